//! A target that must crash, within seconds: it shows that crashes are seen, and that the fuzzer is led by coverage.

/// Panics if the input begins with a certain word, which nobody finds by chance alone.
pub fn run(data: &[u8]) {
    let mut matched = 0;
    for (octet, wanted) in data.iter().zip(b"tweet") {
        if octet != wanted {
            return;
        }
        matched += 1;
    }
    assert!(matched < 5, "the canary sings");
}
