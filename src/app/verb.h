#pragma once
// A verb of the command line: `berth NAME …`. Each lives in a verb_NAME.cc, near kin in one. It
// takes the options, calls the library that does the work, and prints the answer.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/context.h"
#include "app/options.h"
#include "app/output.h"

namespace berth {

/// The exit code of doctor and explain if they could not look.
constexpr int could_not_look = 3;

/// An option whose value may be left out: "--wait" alone then means "--wait=forever". The next word
/// is its value only where it is a duration, so that `--wait python train.py` runs python.
struct OptionalValue {
  std::string_view option;
  std::string_view value_if_alone;
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual void declare(Options& options) = 0;
  /// `rest`: the words after "--" or after the first word that is no option, for verbs that take a
  /// command.
  virtual int run(Context& context, const std::vector<std::string>& rest) = 0;
  /// What a mistake in the options exits with.
  [[nodiscard]] virtual int usage_code() const { return exit_code::usage; }
  /// What it exits with where its answer could not be written; nothing: as main() says.
  [[nodiscard]] virtual std::optional<int> unwritten_code() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<OptionalValue> optional_values() const { return {}; }
  /// What --help says below the options, in the reader's language.
  [[nodiscard]] virtual std::string notes() const { return {}; }
  /// Its words are another program's. Only --sim, --replay and --lang in front are looked at; the
  /// rest arrives in `rest`.
  [[nodiscard]] virtual bool takes_words_as_they_are() const { return false; }
  /// Decides by the configuration: it says itself what is wrong with it, and does not go on.
  [[nodiscard]] virtual bool decides_by_config() const { return false; }
  /// Words of its own stand before "--", and arrive in `rest` with those behind it.
  [[nodiscard]] virtual bool takes_words_before_dashes() const { return false; }
  /// Takes a command line behind its options.
  [[nodiscard]] virtual bool takes_command() const { return false; }
  /// What --help says behind the options, in the reader's language.
  [[nodiscard]] virtual std::string words_in_usage() const;
};

/// `look`: the verb begins with a look. The driver's library is then started before the words are
/// parsed.
enum class FirstAct { other, look };

struct VerbEntry {
  std::string_view group;  // a heading of `berth --help`; goes through tr(), as the summary does
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // two, in lines; its --help begins with them
  std::unique_ptr<Verb> (*make)();
  FirstAct first = FirstAct::other;
};

/// All verbs, in the order `berth --help` shows them. Listed in main.cc.
[[nodiscard]] std::span<const VerbEntry> verbs();
/// And `ranks` and `helper`, which no person types.
[[nodiscard]] std::span<const VerbEntry> known_verbs();

std::unique_ptr<Verb> make_helper();
std::unique_ptr<Verb> make_ranks();
std::unique_ptr<Verb> make_status();
std::unique_ptr<Verb> make_ps();
std::unique_ptr<Verb> make_health();
std::unique_ptr<Verb> make_doctor();
std::unique_ptr<Verb> make_top();
std::unique_ptr<Verb> make_record();
std::unique_ptr<Verb> make_pick();
std::unique_ptr<Verb> make_run();
std::unique_ptr<Verb> make_submit();
std::unique_ptr<Verb> make_isolate();
std::unique_ptr<Verb> make_leases();
std::unique_ptr<Verb> make_queue();
std::unique_ptr<Verb> make_topo();
std::unique_ptr<Verb> make_idle();
std::unique_ptr<Verb> make_reserve();
std::unique_ptr<Verb> make_release();
std::unique_ptr<Verb> make_exec();
std::unique_ptr<Verb> make_reap();
std::unique_ptr<Verb> make_claim();
std::unique_ptr<Verb> make_extend();
std::unique_ptr<Verb> make_sweep();
std::unique_ptr<Verb> make_runs();
std::unique_ptr<Verb> make_show();
std::unique_ptr<Verb> make_explain();
std::unique_ptr<Verb> make_report();
std::unique_ptr<Verb> make_manifest();
std::unique_ptr<Verb> make_mark();
std::unique_ptr<Verb> make_logs();
std::unique_ptr<Verb> make_stop();
std::unique_ptr<Verb> make_wait();
std::unique_ptr<Verb> make_history();
std::unique_ptr<Verb> make_usage();
std::unique_ptr<Verb> make_spec();
std::unique_ptr<Verb> make_fit();
std::unique_ptr<Verb> make_support();
std::unique_ptr<Verb> make_config();
std::unique_ptr<Verb> make_policy();
std::unique_ptr<Verb> make_setup();
std::unique_ptr<Verb> make_serve();
std::unique_ptr<Verb> make_alert();
std::unique_ptr<Verb> make_token();
std::unique_ptr<Verb> make_service();
std::unique_ptr<Verb> make_smi();
std::unique_ptr<Verb> make_gpustat();
std::unique_ptr<Verb> make_demo();
std::unique_ptr<Verb> make_scenarios();
std::unique_ptr<Verb> make_recipes();

}  // namespace berth
