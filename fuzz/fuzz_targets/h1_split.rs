//! See `mcp_http_fuzz::h1_split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::h1_split::run(data));
