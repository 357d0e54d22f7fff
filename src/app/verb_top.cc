// `berth top`: the machine as it moves, to be left open.

#include <unistd.h>
#include <algorithm>
#include <utility>

#include "app/several_servers.h"
#include "app/top_loop.h"
#include "app/verb.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/status.h"

namespace berth {

namespace {

class TopVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("-d,--delay", delay_, "look again every so often (1s)", "TIME");
    options.filled_value("-i,--id", devices_,
                         "only these: index, UUID prefix, PCI address or name glob", "LIST");
    options.filled_value("-u,--user", user_, "only this user's processes", "USER");
    options.filled_value("-s,--sort", sort_,
                         "columns to sort by, the first counts most: device, memory, utilization, "
                         "cpu, age, user, pid, command, bandwidth, encoder, decoder, host-memory",
                         "COLUMNS");
    options.flag("-t,--tree", tree_, "processes as a tree");
    options.filled_value("--theme", theme_, "dark, light, colour-blind or mono", "NAME");
    options.filled_value("--speed", speed_, "of a recording (--replay FILE): 2 is twice as fast",
                         "FACTOR");
    options.flag("--ascii", ascii_, "ASCII characters alone");
    options.flag("--read-only", read_only_, "no signals and no nice values");
    options.filled_value("--join", join_,
                         "other servers beside this one, a line each, with commas "
                         "(gpu1,gpu2:9700,NAME=URL)",
                         "LIST");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("top takes no word \"{}\"; berth top --help lists its options",
                   printable(rest.front())));
      return exit_code::usage;
    }
    if (!context.stdout_moves()) {
      complain(tr("top needs a terminal whose cursor can be moved; berth status -w does without"));
      return exit_code::usage;
    }
    if (ascii_) context.use_ascii();
    if (!join_.empty()) return servers(context);
    TopOptions options;
    if (auto mistake = set_up(context, options)) return report(*mistake, exit_code::usage);
    return run_top(context, std::move(options));
  }

 private:
  int servers(Context& context) const {
    const auto every = parse_duration(delay_.empty() ? usual_delay : delay_);
    if (!every) {
      Error error = every.error();
      return report(std::move(error).at("-d"), exit_code::usage);
    }
    return watch_servers(context, {.join = join_}, std::max(*every, std::chrono::milliseconds(500)),
                         Keys::read);
  }

  /// What is wrong with the options; nothing: all is well.
  std::optional<Error> set_up(Context& context, TopOptions& options) {
    top::State& state = options.state;
    state.viewer.uid = ::geteuid();
    state.viewer.read_only = read_only_;
    state.user = user_;
    state.language = current_language();
    state.theme = context.out().colour ? top::Theme::dark : top::Theme::mono;
    options.remembered = remembered_settings(context);
    top::apply(options.remembered, state);
    if (!context.out().colour) state.theme = top::Theme::mono;
    // What is typed counts before what is remembered.
    state.tree = state.tree || tree_;
    if (!delay_.empty()) {
      auto delay = parse_duration(delay_);
      if (!delay) return std::move(delay).error().at("-d");
      state.interval = std::max(*delay, std::chrono::milliseconds(100));
    }
    const auto speed = parse_decimal(speed_);
    if (!speed || *speed <= 0) return Error(ErrorCode::invalid, mistaken("--speed", speed_));
    state.speed = std::clamp(*speed, 1.0 / 8, 64.0);
    if (!theme_.empty()) {
      const auto theme = top::theme_from_name(theme_);
      if (!theme) return Error(ErrorCode::invalid, mistaken("--theme", theme_));
      state.theme = *theme;
    }
    if (!sort_.empty()) {
      auto levels = top::sort_from(sort_);
      if (!levels && std::ranges::count(sort_, ',') >= static_cast<int>(top::most_sort_levels)) {
        return Error(ErrorCode::invalid,
                     sentence("--sort takes three columns at most, not \"{}\"", printable(sort_)));
      }
      if (!levels) return Error(ErrorCode::invalid, mistaken("--sort", sort_));
      state.sort = std::move(*levels);
    }
    if (context.replay()) {
      state.viewer.replay = true;
      auto recording = context.recording();
      if (!recording) return std::move(recording).error();
      options.recording.emplace(std::move(*recording));
    }
    return choose_devices(options);
  }

  std::optional<Error> choose_devices(TopOptions& options) const {
    if (devices_.empty()) return std::nullopt;
    auto patterns = parse_patterns(devices_);
    if (!patterns) return std::move(patterns).error().at("-i");
    options.choose = [chosen = StatusOptions{.devices = std::move(*patterns)}](
                         const Snapshot& snapshot) -> Result<std::vector<DeviceId>> {
      if (auto known = check_patterns(snapshot, chosen); !known) {
        return std::unexpected(std::move(known).error());
      }
      std::vector<DeviceId> ids;
      for (const Device* device : shown_devices(snapshot, chosen)) ids.push_back(device->id);
      return ids;
    };
    return std::nullopt;
  }

  static Sentence mistaken(std::string_view option, const std::string& value) {
    return sentence("{} does not know \"{}\"; berth top --help lists what there is", option,
                    printable(value));
  }

  static constexpr const char* usual_delay = "1s";
  std::string delay_, devices_, user_, sort_, theme_, join_;
  std::string speed_ = "1";
  bool tree_ = false;
  bool ascii_ = false;
  bool read_only_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_top() { return std::make_unique<TopVerb>(); }

}  // namespace berth
