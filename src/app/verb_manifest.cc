// `berth manifest`: what this machine and this user's software are, here and now. Also how two such
// manifests or runs differ.

#include <sys/stat.h>
#include <unistd.h>

#include "app/records.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "host_environment/gather_host_facts.h"
#include "record/run_record.h"
#include "view/manifest_text.h"

namespace berth {

namespace {

// Those of diff(1), and one for what cannot be told.
constexpr int explains_results = 1;
constexpr int trouble = 2;
constexpr int cannot_tell = 3;
constexpr std::size_t largest_manifest = 16 << 20;

class ManifestVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("what", what_,
                 "diff, and two of: a run's id or last, a file of `berth manifest --json`, the "
                 "directory of a record, now");
    options.word("a", a_, "the first of the two");
    options.word("b", b_, "the second of the two");
    options.flag("--json", json_, "as JSON");
    options.filled_value("--python", python_,
                         "look at this interpreter or environment instead of the one in use",
                         "PATH");
    options.filled_value("-o,--output", output_, "write it into this file", "FILE");
    options.flag("--force", force_, "replace the file if there is one");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) return refuse(rest.front());
    if (what_.empty()) return here(context);
    if (what_ != "diff") return refuse(what_);
    return difference(context);
  }

 private:
  static int refuse(const std::string& word) {
    complain(trf("manifest takes no word \"{}\": berth manifest, or berth manifest diff A B",
                 printable(word)));
    return exit_code::usage;
  }

  [[nodiscard]] Result<Manifest> gathered(Context& context) const {
    auto looked = context.look_without_claims(Depth::everything);
    if (!looked) return std::unexpected(looked.error());
    return gather_here({.environment = context.environment(),
                        .working_directory = read_link("/proc/self/cwd").value_or("."),
                        .python = python_,
                        .user = local_user_name(::getuid()),
                        .uid = ::getuid()},
                       *looked, context.clock());
  }

  int here(Context& context) const {
    const auto manifest = gathered(context);
    if (!manifest) return report(manifest.error());
    return answer(json_ ? here_to_json(*manifest) : render_manifest(*manifest, style(context)));
  }

  [[nodiscard]] Style style(const Context& context) const {
    return output_.empty() ? context.out_uncut() : for_a_file(context.out());
  }

  int answer(const std::string& text) const {
    if (output_.empty() || output_ == "-") {
      print(text);
      return exit_code::ok;
    }
    const auto written =
        write_output(output_, text, force_ ? Existing::replace : Existing::keep_unless_forced);
    return written ? exit_code::ok : report(written.error());
  }

  /// A file or a directory where the word is a path to one, else a run's name.
  [[nodiscard]] Result<Manifest> named(Context& context, const std::string& name) const {
    if (name == "now") return gathered(context);
    struct stat facts{};
    const bool is_there = ::stat(name.c_str(), &facts) == 0;
    const bool is_path = name.find('/') != std::string::npos;
    if (is_there && S_ISDIR(facts.st_mode)) return of_file(name + "/manifest.json");
    if (is_there && S_ISREG(facts.st_mode)) return of_file(name);
    if (is_path) return of_file(name);
    auto run = find_run(context, name);
    if (!run) return std::unexpected(run.error());
    return std::move(run->manifest);
  }

  static Result<Manifest> of_file(const std::string& path) {
    const auto text = read_named_file(path, largest_manifest);
    if (!text) return std::unexpected(text.error());
    auto manifest = any_manifest_from_json(*text);
    if (!manifest) return std::unexpected(std::move(manifest).error().because("reading {}", path));
    return manifest;
  }

  int difference(Context& context) const {
    if (a_.empty() || b_.empty()) {
      complain(tr("two are compared: berth manifest diff A B"));
      return exit_code::usage;
    }
    const auto a = named(context, a_);
    if (!a) return report(a.error(), trouble);
    const auto b = named(context, b_);
    if (!b) return report(b.error(), trouble);
    const ManifestDiff differences = manifest_diff(*a, *b);
    const ComparedNames names{.a = a_ == b_ ? "A" : a_, .b = a_ == b_ ? "B" : b_};
    const std::string text = json_ ? differences_json(names, differences)
                                   : render_differences(names, differences, style(context));
    if (const int code = answer(text); code != exit_code::ok) return trouble;
    if (any_found(differences, Explains::results)) return explains_results;
    return any_unknown(differences, Explains::results) ? cannot_tell : exit_code::ok;
  }

  std::string what_;
  std::string a_;
  std::string b_;
  std::string python_;
  std::string output_;
  bool json_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_manifest() { return std::make_unique<ManifestVerb>(); }

}  // namespace berth
