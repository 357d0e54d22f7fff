#pragma once
// What a receiver is told: one alert that began or ended, or that this is a test. As JSON, and as
// the variables that a command finds.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alert/tracker.h"
#include "base/archive.h"
#include "base/result.h"
#include "serve/alert_receiver.h"
#include "view/alert_text.h"

namespace berth::serve {

/// What receivers are told of a change. Nothing: of the end of an alert whose rule was switched
/// off, as that says nothing of the machine.
[[nodiscard]] std::optional<AlertMessage> message_of(const AlertChange& change, std::string host);

/// What `berth alert test` sends: nothing of it is true but where it comes from.
[[nodiscard]] AlertMessage test_message(std::string host, std::optional<std::string> simulated,
                                        WallTime now);

/// {"berth_alert": 1, "event", "text", "host", "version", "simulated", "alert": {…}}. `text` is its
/// sentence: Slack and similar services look for it there.
[[nodiscard]] std::string to_json(const AlertMessage& message);

/// BERTH_ALERT_…=value.
[[nodiscard]] std::vector<std::string> variables_of(const AlertMessage& message);

/// How a test went with one receiver, as one line: {"receiver", "kind", "arrived", "trouble"}.
[[nodiscard]] std::string delivery_line(const AlertReceiver& receiver,
                                        const std::optional<Error>& mistake);

/// The members of an alert as it is shown, with those names.
void write_alert(Archive& archive, Alert alert, const std::vector<std::string>& names);

// What a server answered to GET /api/v1/alerts, from text to values.

/// invalid: it is no such answer. An alert of a rule that this berth does not know is left out.
[[nodiscard]] Result<AlertList> alert_list_from_json(std::string_view text);

}  // namespace berth::serve
