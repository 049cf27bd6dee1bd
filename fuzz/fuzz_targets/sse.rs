//! See `mcp_http_fuzz::sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::sse::run(data));
