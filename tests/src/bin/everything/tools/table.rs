//! Which tools there are.

use mcp_http_tokio::Topic;

use super::Tool;
use super::Work::{AtOnce, InTime, Job, Rounds};
use super::{asking, at_once, changes, contact, in_time, jobs, round_trips};
use crate::rounds::Conversation;

/// The order is the order of the list. The first tool takes no arguments and cannot fail: test suites call it.
pub(super) static TOOLS: &[Tool] = &[
    Tool::new("test_simple_text", "Answers with one text.", AtOnce(at_once::simple_text)),
    Tool::new("test_image_content", "Answers with a PNG image.", AtOnce(at_once::image_content)),
    Tool::new("test_audio_content", "Answers with a WAV sound.", AtOnce(at_once::audio_content)),
    Tool::new(
        "test_embedded_resource",
        "Answers with a resource inside the answer.",
        AtOnce(at_once::embedded_resource),
    ),
    Tool::new(
        "test_multiple_content_types",
        "Answers with a text, an image and a resource.",
        AtOnce(at_once::multiple_content_types),
    ),
    Tool::new("test_error_handling", "Always fails.", AtOnce(at_once::error_handling)),
    Tool::new(
        "test_tool_with_progress",
        "Reports progress three times, then answers.",
        InTime(|context, _| Box::pin(in_time::tool_with_progress(context.call))),
    ),
    Tool::new(
        "json_schema_2020_12_tool",
        "Takes a contact, described with what JSON Schema 2020-12 has to offer.",
        AtOnce(contact::take),
    )
    .taking(contact::schema),
    Tool::new(
        "test_x_mcp_header",
        "Answers with its argument, which clients also send as a header field.",
        AtOnce(at_once::x_mcp_header),
    )
    .taking(at_once::x_mcp_header_schema),
    Tool::new("echo", "Answers with the text it was given.", AtOnce(at_once::echo))
        .taking(at_once::echo_schema),
    Tool::new(
        "slow",
        "Waits, reports progress after each step, and stops when it is cancelled.",
        InTime(|context, given| Box::pin(in_time::slow(context.call, given))),
    )
    .taking(in_time::slow_schema),
    Tool::new(
        "test_tool_with_logging",
        "Sends three log messages of level `info`, then answers.",
        InTime(|context, _| Box::pin(in_time::tool_with_logging(context))),
    ),
    Tool::new(
        "test_reconnection",
        "Ends the response before the answer is there; the client comes back for it.",
        InTime(|context, _| Box::pin(in_time::reconnection(context.call))),
    ),
    Tool::new(
        "test_sampling",
        "Passes a prompt on to the client's model.",
        Rounds(Conversation::open(asking::sampling)),
    )
    .taking(asking::sampling_schema),
    Tool::new(
        "test_elicitation",
        "Asks the user for a name and an address.",
        Rounds(Conversation::open(asking::elicitation)),
    )
    .taking(asking::elicitation_schema),
    Tool::new(
        "test_elicitation_sep1034_defaults",
        "Asks the user with a form that has a default for every type of field.",
        Rounds(Conversation::open(asking::defaults)),
    ),
    Tool::new(
        "test_elicitation_sep1330_enums",
        "Asks the user with a form that has every kind of choice.",
        Rounds(Conversation::open(asking::enums)),
    ),
    Tool::new(
        "test_trigger_tool_change",
        "Tells clients that the list of tools changed. It did not.",
        InTime(|context, _| Box::pin(async { changes::of_list(context, &Topic::Tools) })),
    ),
    Tool::new(
        "test_trigger_prompt_change",
        "Tells clients that the list of prompts changed. It did not.",
        InTime(|context, _| Box::pin(async { changes::of_list(context, &Topic::Prompts) })),
    ),
    Tool::new(
        "test_trigger_resource_update",
        "Tells the clients that subscribed to a resource that it changed. It did not.",
        InTime(|context, given| Box::pin(async { changes::of_resource(context, given) })),
    )
    .taking(changes::resource_schema),
    Tool::new(
        "test_logging_tool",
        "Sends one log message of level `info`, then answers.",
        InTime(|context, _| Box::pin(in_time::logging_tool(context))),
    ),
    Tool::new(
        "test_missing_capability",
        "Answers only clients that declare the capability `sampling`.",
        Rounds(Conversation::open(round_trips::missing_capability)),
    ),
    Tool::new(
        "test_streaming_elicitation",
        "Asks the user to confirm.",
        Rounds(Conversation::open(round_trips::confirm)),
    ),
    Tool::new(
        "test_input_required_result_elicitation",
        "Asks the user for a name.",
        Rounds(Conversation::open(round_trips::greet)),
    ),
    Tool::new(
        "test_input_required_result_sampling",
        "Asks the client's model a question.",
        Rounds(Conversation::open(round_trips::capital)),
    ),
    Tool::new(
        "test_input_required_result_list_roots",
        "Asks the client where its user works.",
        Rounds(Conversation::open(round_trips::roots)),
    ),
    Tool::new(
        "test_input_required_result_request_state",
        "Asks the user to confirm, and knows again what it asked.",
        Rounds(Conversation::sealed(round_trips::confirm)),
    ),
    Tool::new(
        "test_input_required_result_multiple_inputs",
        "Asks the user, the model and the client, all at once.",
        Rounds(Conversation::sealed(round_trips::three_at_once)),
    ),
    Tool::new(
        "test_input_required_result_multi_round",
        "Asks the user twice, one after the other.",
        Rounds(Conversation::sealed(round_trips::two_in_a_row)),
    ),
    Tool::new(
        "test_input_required_result_tampered_state",
        "Asks the user to confirm, and refuses a state that is not its own.",
        Rounds(Conversation::sealed(round_trips::confirm)),
    ),
    Tool::new(
        "test_input_required_result_capabilities",
        "Asks only what the client is able to answer.",
        Rounds(Conversation::open(round_trips::as_far_as_able)),
    ),
    Tool::new("greet", "Greets, and never as a task.", AtOnce(at_once::greet)).taking(at_once::greet_schema),
    Tool::new(
        "slow_compute",
        "Takes some seconds, as a task where there are tasks.",
        Job(jobs::slow_compute),
    )
    .taking(jobs::slow_compute_schema),
    Tool::new("failing_job", "Works as a task, and then fails.", Job(jobs::failing)).tasks_only(),
    Tool::new(
        "protocol_error_job",
        "Works as a task, and then has an error instead of a result.",
        Job(jobs::breaking),
    )
    .tasks_only(),
    Tool::new(
        "confirm_delete",
        "Asks the user, as a task, and then does not delete anything either.",
        Job(jobs::confirm_delete),
    )
    .taking(jobs::confirm_delete_schema)
    .tasks_only(),
    Tool::new("multi_input", "Asks the user two things at once, as a task.", Job(jobs::two_names))
        .tasks_only(),
    Tool::new(
        "test_tool_with_task",
        "Asks the user for a name, and greets it as a task.",
        Rounds(Conversation::open(jobs::greeting)),
    )
    .tasks_only(),
];
