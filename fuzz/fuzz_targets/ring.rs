//! See `mcp_http_fuzz::ring`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::ring::run(data));
