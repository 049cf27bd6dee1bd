//! Z10: what a `subscriptions/listen` needs, and what it asks for.
mod intake_support;

use intake_support::intake;
use intake_support::stateless::{
    check_admitted, check_admitted_by, check_invalid_params, list, listen, notice, refused, refused_by,
    request, servers, status_and_code,
};
use mcp_http_core::intake::{Kind, ListenFilter};
use mcp_http_core::reject::{Needs, Refusal};

fn filter(notifications: &str) -> ListenFilter {
    check_admitted(&listen(notifications)).expect("a filter")
}

fn uris(filter: &ListenFilter) -> Vec<&str> {
    filter.uris.iter().map(|uri| &**uri).collect()
}

#[test]
fn z10_the_filter_is_what_was_asked_for() {
    let nothing = ListenFilter::default();
    for empty in [
        "{}",
        r#"{"toolsListChanged":false,"promptsListChanged":false,"resourcesListChanged":false,"resourceSubscriptions":[]}"#,
        // Kinds that are not known are never told of.
        r#"{"x":true,"ToolsListChanged":true,"tools":1,"toolsListChange":null,"":[]}"#,
    ] {
        assert_eq!(filter(empty), nothing, "{empty}");
    }
    assert_eq!(filter(r#"{"toolsListChanged":true}"#), ListenFilter { tools: true, ..nothing.clone() });
    assert_eq!(filter(r#"{"promptsListChanged": true }"#), ListenFilter { prompts: true, ..nothing.clone() });
    assert_eq!(
        filter(r#"{"resourcesListChanged":true}"#),
        ListenFilter { resources: true, ..nothing.clone() }
    );
    assert_eq!(filter(r#"{"tools\u004cistChanged":true}"#), ListenFilter { tools: true, ..nothing });
    let all = filter(
        r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b"]}"#,
    );
    assert_eq!(all, ListenFilter { tools: true, prompts: true, resources: true, uris: vec!["a:b".into()] });
}

#[test]
fn z10_a_uri_asked_for_twice_is_asked_for_once() {
    for (sent, merged) in [
        (r#"["b","a"]"#, &["b", "a"][..]),
        (r#"["a","b","a","a","b","c"]"#, &["a", "b", "c"]),
        (r#"["a\/b","a/b","\u0061/b"]"#, &["a/b"]),
        (r#"["a","A",""," a"]"#, &["a", "A", "", " a"]),
        ("[ ]", &[]),
    ] {
        assert_eq!(uris(&filter(&format!(r#"{{"resourceSubscriptions":{sent}}}"#))), merged);
    }
}

#[test]
fn z10_what_is_no_filter_is_400_invalid_params() {
    for params in ["", r#""x":1"#, r#""toolsListChanged":true"#, r#""notifications":{},"notifications":{}"#] {
        check_invalid_params(
            &request("subscriptions/listen", params),
            "needs params.notifications, an object",
        );
    }
    for value in ["null", "true", "1", "[]", r#""toolsListChanged""#, r#"["toolsListChanged"]"#] {
        check_invalid_params(&listen(value), "needs params.notifications, an object");
    }
    for kind in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
        for value in ["null", "1", "0", r#""true""#, "{}", "[]", "[true]"] {
            check_invalid_params(&listen(&format!(r#"{{"{kind}":{value}}}"#)), "true or false");
        }
        check_invalid_params(&listen(&format!(r#"{{"{kind}":true,"{kind}":true}}"#)), "given once");
    }
    for value in
        ["null", "true", "{}", r#""a:b""#, "[1]", "[null]", r#"["a",["b"]]"#, r#"["a",{}]"#, r#"["\ud800"]"#]
    {
        let ask = listen(&format!(r#"{{"resourceSubscriptions":{value}}}"#));
        check_invalid_params(&ask, "resourceSubscriptions must be an array of strings");
    }
    let twice = listen(r#"{"resourceSubscriptions":[],"resourceSubscriptions":[]}"#);
    check_invalid_params(&twice, "given once");
}

#[test]
fn l2_as_many_different_uris_as_the_limit_and_not_one_more() {
    let asking = |count: usize, times: usize| {
        let uris: Vec<String> =
            (0..count * times).map(|at| format!(r#""u:{}""#, at % count.max(1))).collect();
        listen(&format!(r#"{{"resourceSubscriptions":[{}]}}"#, uris.join(",")))
    };
    for limit in [1, 2, 256] {
        let intake = intake(|config| config.listen_uris_max = limit);
        for count in [0, 1, limit] {
            for times in [1, 3] {
                let filter = check_admitted_by(&intake, &asking(count, times)).unwrap();
                assert_eq!(filter.uris.len(), count);
            }
        }
        for (count, times) in [(limit + 1, 1), (limit + 1, 2), (limit * 10, 1)] {
            let refusal = refused_by(&intake, &asking(count, times));
            assert!(
                matches!(refusal, Refusal::InvalidParams(why) if why.contains("too many")),
                "{refusal:?}"
            );
        }
    }
}

#[test]
fn z10_a_client_that_cannot_read_events_is_406() {
    for accept in ["application/json", "application/json, text/event-stream;q=0", "application/*"] {
        // Even if the filter is none: which answer it could read comes first.
        for ask in [listen("{}"), listen("1")] {
            let refusal = refused(&ask.set("accept", accept));
            assert_eq!(refusal, Refusal::NotAcceptable(Needs::EventStream), "{accept}");
            assert_eq!(status_and_code(refusal), (406, -32000));
        }
        let _ = check_admitted(&list().set("accept", accept));
    }
    for accept in ["text/event-stream", "*/*", "text/*", "application/json, text/event-stream"] {
        let _ = check_admitted(&listen("{}").set("accept", accept));
    }
    let _ = check_admitted(&listen("{}").without("accept"));
}

#[test]
fn z10_only_a_listen_listens() {
    for method in ["tools/list", "subscriptions/Listen", "subscriptions/listen2", "x"] {
        let filter = check_admitted(&request(method, r#""notifications":{"toolsListChanged":true}"#));
        assert_eq!(filter, None, "{method}");
        assert_eq!(check_admitted(&request(method, r#""notifications":1"#)), None);
    }
    let ask = notice().body(r#"{"jsonrpc":"2.0","method":"subscriptions/listen"}"#);
    for intake in servers() {
        assert!(matches!(ask.kind(&intake), Kind::StatelessNotice(_)));
    }
}
