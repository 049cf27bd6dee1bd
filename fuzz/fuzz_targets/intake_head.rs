//! See `mcp_http_fuzz::intake_head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::intake_head::run(data));
