// `berth serve`: the machine for browsers, programs and Prometheus.

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "app/serve_daemon.h"
#include "app/serve_page.h"
#include "app/server_paths.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/page_link.h"

namespace berth {

namespace {

class ServeVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.begin_group("Where");
    options.filled_value("--listen", listen_,
                         "addresses, with commas (127.0.0.1:9700); none: only the socket", "LIST");
    options.filled_value("--socket", socket_, "path of the Unix socket; none: only the addresses",
                         "PATH");
    options.flag("--tokens", tokens_, "ask for tokens at addresses that others can reach");
    options.filled_value("--tls-cert", certificate_, "HTTPS at those addresses: the certificate",
                         "FILE");
    options.filled_value("--tls-key", key_, "its key", "FILE");
    options.filled_value("--tls-client-ca", client_ca_,
                         "let in only who has a certificate of this authority", "FILE");
    options.begin_group("Several servers");
    options.filled_value("--join", join_,
                         "other servers to show beside this one, with commas "
                         "(gpu1,gpu2:9700,NAME=URL)",
                         "LIST");
    options.filled_value("--join-file", join_file_,
                         "those in this file, one a line: NAME=URL token_file=FILE ca=FILE",
                         "FILE");
    options.begin_group("Options");
    options.filled_value("--config", config_,
                         "instead of ~/.config/berth/serve.toml or /etc/berth/serve.toml", "FILE");
    options.filled_value("--interval", interval_, "how often to look (1s)", "TIME");
    options.flag("--open", open_,
                 "open the page in a browser; at a desktop's terminal it is by itself");
    options.flag("--no-open", no_open_, "open no browser");
    options.flag("--link", link_,
                 "print a link to the page of the server that runs here. It is for you, once and "
                 "within ten minutes");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    // Without: what is opened first, the signals or a socket, is where it says what goes wrong.
    if (const auto filled = fill_closed_streams(); !filled) return report(filled.error());
    if (!rest.empty()) {
      complain(trf("serve takes no word \"{}\"", printable(rest.front())));
      return exit_code::usage;
    }
    if (open_ && no_open_) {
      complain(tr("--open and --no-open: one of them"));
      return exit_code::usage;
    }
    auto settings = read(context);
    if (!settings) return report(settings.error(), exit_code::usage);
    if (const auto refused = serve::refused_listeners(*settings)) {
      return report(*refused, exit_code::usage);
    }
    auto socket = socket_path(context, *settings);
    if (!socket) return report(socket.error());
    if (socket->empty() && settings->listen.empty()) {
      complain(
          tr("serve: without an address and without a socket nobody could reach it: leave out "
             "--listen or --socket"));
      return exit_code::usage;
    }
    if (link_) return print_link(context, *socket);
    return run_server(context, {.settings = std::move(*settings),
                                .socket = std::move(*socket),
                                .read_again = [this, &context] { return read_again(context); },
                                .open_page = open_      ? OpenPage::always
                                             : no_open_ ? OpenPage::never
                                                        : OpenPage::where_expected});
  }

 private:
  static int print_link(Context& context, const std::string& socket) {
    const auto link = serve::ask_for_link(socket, context.clock());
    if (!link) return report(link.error());
    print(*link + "\n");
    return exit_code::ok;
  }

  /// A file that has gone would take rules, receivers and policy with it, in silence.
  Result<serve::Settings> read_again(const Context& context) {
    const std::string before = read_from_;
    struct stat facts{};
    if (!before.empty() && ::stat(before.c_str(), &facts) != 0) {
      return fail_system(errno, "find {}, which it was read from", before);
    }
    if (!before.empty() && !S_ISREG(facts.st_mode)) {
      return fail(ErrorCode::invalid, "{} is no file any more", before);
    }
    return read(context);
  }

  /// The file, and over it what was typed.
  Result<serve::Settings> read(const Context& context) {
    std::string read_from;
    auto settings = read_settings(context, config_, read_from);
    if (settings) {
      complain_of_unknown(*settings, read_from);
      read_from_ = read_from;
    }
    if (!settings) return settings;
    if (!listen_.empty()) {
      settings->listen.clear();
      const std::string_view list = listen_ == "none" ? std::string_view() : listen_;
      for (const std::string_view one : split(list, ',')) {
        if (one.empty()) continue;
        auto address = serve::parse_address(trimmed(one));
        if (!address) return std::unexpected(std::move(address).error().at("--listen"));
        settings->listen.push_back(std::move(*address));
      }
      if (settings->listen.empty() && listen_ != "none") {
        return fail(ErrorCode::invalid,
                    "--listen \"{}\" has no address: write 127.0.0.1:9700, or none for the socket "
                    "alone",
                    printable(listen_));
      }
    }
    if (!interval_.empty()) {
      auto interval = serve::parse_interval(interval_);
      if (!interval) return std::unexpected(std::move(interval).error().at("--interval"));
      settings->interval = *interval;
    }
    if (!join_.empty()) {
      settings->join.hosts.clear();
      for (const std::string_view one : split(join_, ',')) {
        if (!trimmed(one).empty()) settings->join.hosts.emplace_back(trimmed(one));
      }
      if (settings->join.hosts.empty()) {
        return fail(ErrorCode::invalid, "--join \"{}\" names no server", printable(join_));
      }
    }
    if (!join_file_.empty()) settings->join.file = join_file_;
    settings->require_tokens = settings->require_tokens || tokens_;
    if (certificate_.empty() != key_.empty() || (!client_ca_.empty() && certificate_.empty())) {
      return fail(ErrorCode::invalid,
                  "--tls-cert and --tls-key belong together, and --tls-client-ca wants both");
    }
    if (!certificate_.empty()) {
      settings->tls =
          serve::TlsFiles{.certificate = certificate_, .key = key_, .client_ca = client_ca_};
    }
    return settings;
  }

  /// With its directory made; empty: none.
  Result<std::string> socket_path(const Context& context, const serve::Settings& settings) const {
    std::string path = settings.socket.value_or("");
    if (!socket_.empty()) path = socket_;
    if (path == "none") return std::string();
    const bool usual = path.empty();
    if (usual) path = server_socket(context);
    if (path.empty() || !usual) return path;
    // Only the usual one: others' directories are theirs to make.
    auto made = make_directories(path.substr(0, path.rfind('/')), 0755);
    if (!made) return std::unexpected(std::move(made).error());
    return path;
  }

  std::string read_from_;  // the file that settings come from; empty: none
  std::string listen_, socket_, config_, interval_, certificate_, key_, client_ca_;
  std::string join_, join_file_;
  bool tokens_ = false;
  bool link_ = false;
  bool open_ = false;
  bool no_open_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_serve() { return std::make_unique<ServeVerb>(); }

}  // namespace berth
