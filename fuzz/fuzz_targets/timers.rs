//! See `mcp_http_fuzz::timers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::timers::run(data));
