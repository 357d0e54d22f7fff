// `berth token`: words that prove who a user is where no Unix socket can.

#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "app/server_paths.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "serve/digest.h"
#include "serve/tokens.h"

namespace berth {

namespace {

std::string date_of(WallTime time) {
  const std::time_t at = time.unix_ms / 1000;
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

class TokenVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("action", action_, "create, list or revoke");
    options.word("name", name_, "what the token is called: whose it is, or what for");
    options.filled_value("--user", user_, "whom it stands for (create; you yourself)", "USER");
    options.flag("--admin", admin_, "it stands for an administrator (create)");
    options.flag("--public", public_, "it shows what everybody may see, no more (create)");
    options.filled_value("--expires", expires_, "how long it is good for: 90d (create; for ever)",
                         "TIME");
    options.flag("--json", json_, "as JSON, without what is secret (list)");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    const auto state = server_state_directory(context);
    if (!state) {
      complain(tr("no place for tokens: neither XDG_STATE_HOME nor HOME is set"));
      return exit_code::failed;
    }
    const std::string path = token_file(*state);
    const bool changes = action_ == "create" || action_ == "revoke";
    if (changes == name_.empty() || (!changes && action_ != "list")) {
      complain(tr("token: berth token create NAME, berth token list, berth token revoke NAME"));
      return exit_code::usage;
    }
    if (!changes) return list(path);
    if (auto made = make_directories(*state, 0700); !made) return report(made.error());
    // Two at once would each write the file without the other's token.
    auto lock = open_fd(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!lock) return report(lock.error());
    const auto taken =
        take_flock(lock->get(), context.clock(), context.clock().now() + std::chrono::seconds(5));
    if (!taken) return report(taken.error());
    return action_ == "create" ? create(context, path) : revoke(path);
  }

 private:
  Result<std::optional<uid_t>> stands_for() const {
    if ((admin_ ? 1 : 0) + (public_ ? 1 : 0) + (user_.empty() ? 0 : 1) > 1) {
      return fail(ErrorCode::invalid, "--user, --admin and --public exclude each other");
    }
    if (admin_ || public_) return std::optional<uid_t>();
    if (user_.empty()) return std::optional(::getuid());
    const auto uid = local_uid_of(user_);
    if (!uid) {
      return fail(ErrorCode::not_found,
                  "there is no user {} in /etc/passwd: give the number of one who is elsewhere",
                  printable(user_));
    }
    return std::optional(*uid);
  }

  int create(Context& context, const std::string& path) {
    const auto uid = stands_for();
    if (!uid) return report(uid.error(), exit_code::usage);
    serve::Token token{.name = name_,
                       .uid = *uid,
                       .admin = admin_,
                       .created = context.clock().wall_now(),
                       .expires = std::nullopt,
                       .sha256 = {}};
    if (!expires_.empty()) {
      const auto lasts = parse_duration(expires_);
      if (!lasts) return report(Error(lasts.error()).at("--expires"), exit_code::usage);
      if (lasts->count() <= 0) {
        complain(tr("--expires: it would be good for nothing from the first"));
        return exit_code::usage;
      }
      token.expires = WallTime{token.created.unix_ms + lasts->count()};
    }
    auto store = serve::load_tokens(path);
    if (!store) return report(store.error());
    const auto secret = serve::make_secret();
    if (!secret) return report(secret.error());
    token.sha256 = serve::sha256_hex(*secret);
    if (const auto added = store->add(std::move(token)); !added) return report(added.error());
    // Said before it is kept: a token whose secret never arrived would be nobody's.
    print(*secret + "\n");
    if (!finish_output()) return exit_code::failed;
    if (const auto saved = serve::save_tokens(path, *store); !saved) return report(saved.error());
    complain(tr("this is shown once: berth keeps only what it can be recognised by"));
    complain(trf("`berth serve` of the same user takes it, who keeps it in {}", printable(path)));
    if (::geteuid() != 0 && ::access(server_sockets(context).back().c_str(), F_OK) == 0) {
      complain(tr("the machine's own server is root's, and has its own: sudo berth token create"));
    }
    return exit_code::ok;
  }

  int revoke(const std::string& path) const {
    auto store = serve::load_tokens(path);
    if (!store) return report(store.error());
    if (const auto gone = store->revoke(name_); !gone) return report(gone.error());
    if (const auto saved = serve::save_tokens(path, *store); !saved) return report(saved.error());
    complain(trf("token {} is good for nothing any more", name_));
    return exit_code::ok;
  }

  int list(const std::string& path) const {
    const auto store = serve::load_tokens(path);
    if (!store) return report(store.error());
    if (json_) {
      print(serve::public_json(*store));
      return exit_code::ok;
    }
    if (store->tokens().empty()) print(std::string(tr("there are no tokens")) + "\n");
    for (const serve::Token& token : store->tokens()) {
      const std::string whose = token.uid     ? local_user_name(*token.uid)
                                : token.admin ? std::string(tr("an administrator"))
                                              : std::string(tr("nobody in particular"));
      print(trf("{}: stands for {}, made {}, {}", token.name, whose, date_of(token.created),
                token.expires ? trf("good until {}", date_of(*token.expires))
                              : std::string(tr("good for ever"))) +
            "\n");
    }
    return exit_code::ok;
  }

  std::string action_, name_, user_, expires_;
  bool admin_ = false;
  bool public_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_token() { return std::make_unique<TokenVerb>(); }

}  // namespace berth
