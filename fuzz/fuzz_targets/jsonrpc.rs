//! See `mcp_http_fuzz::jsonrpc`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_http_fuzz::jsonrpc::run(data));
