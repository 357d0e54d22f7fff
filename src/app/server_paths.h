#pragma once
// The places where `berth serve` and `berth token` keep and find things, for each user that runs
// them.

#include <optional>
#include <string>
#include <vector>

#include "app/context.h"
#include "record/history/store.h"
#include "serve/alert_sender.h"
#include "serve/run_source.h"
#include "serve/settings.h"

namespace berth {

/// The server's own: $XDG_STATE_HOME/berth; /var/lib/berth for root; ~/.local/state/berth.
[[nodiscard]] std::optional<std::string> server_state_directory(const Context& context);
/// The file with the users' GPU-hours. Nothing: this server counts for nobody.
[[nodiscard]] std::optional<std::string> hours_file(const Context& context);
/// The file of tokens in it.
[[nodiscard]] std::string token_file(const std::string& state_directory);
/// $XDG_RUNTIME_DIR/berth/serve.sock, else in the state directory; /run/berth-serve/serve.sock for
/// root.
[[nodiscard]] std::string server_socket(const Context& context);
/// The sockets of servers that this user may ask: the user's own, and the machine's.
[[nodiscard]] std::vector<std::string> server_sockets(const Context& context);
/// Those of them that are there, the configured one first.
[[nodiscard]] std::vector<std::string> server_sockets(const Context& context,
                                                      const serve::Settings& settings);
/// The same of a simulated server, whatever this one looks at.
[[nodiscard]] std::vector<std::string> simulated_server_sockets(const Context& context);
/// What a server answers at its socket.
[[nodiscard]] Result<std::string> ask_server(Context& context, const std::string& socket,
                                             std::string target,
                                             Duration patience = std::chrono::seconds(5));
/// Where records of runs are: one's own. For root also those of all users whom /etc/passwd names.
/// With $BERTH_HOMES (for tests) their homes lie below that.
[[nodiscard]] std::vector<serve::StateDirectory> record_directories(const Context& context,
                                                                    std::string_view passwd);

/// The environment of a command that is told of alerts. It is this program's own, less what systemd
/// said to this program alone.
[[nodiscard]] serve::CommandPlace command_place(const Context& context);

/// A word in it that is no setting: misspelt, or of a newer berth.
void complain_of_unknown(const serve::Settings& settings, const std::string& read_from);
/// Reads the configuration: `named` if given, else the user's, else /etc/berth/serve.toml, else the
/// defaults. `read_from`: which it was; empty: none.
[[nodiscard]] Result<serve::Settings> read_settings(const Context& context,
                                                    const std::string& named,
                                                    std::string& read_from);

/// What a simulated server's history begins with; empty: the server is real, or has no past. Its
/// runs are written when the first look is asked for, on the asking thread.
[[nodiscard]] HistoryStore::Past simulated_past(const Context& context);

}  // namespace berth
