// `berth report`: one file about a run, or about several side by side.

#include <algorithm>

#include "app/records.h"
#include "app/run_judge.h"
#include "app/verb.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/report/model.h"

namespace berth {

namespace {

// Letters for that many; beyond it no chart can be read.
constexpr std::size_t most_runs = 8;

class ReportVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_words("runs", names_,
                           "runs: ids, the beginning or end of one, or last; several are compared");
    options.filled_value("-o,--output", output_,
                         "the file to write; - is stdout (report-RUN.html here)", "FILE");
    options.flag("--force", force_, "replace the file if there is one");
    options.flag("--md", markdown_, "as Markdown, on stdout unless -o says where");
    options.flag("--json", json_, "as JSON, on stdout unless -o says where");
    options.filled_value("--price", price_, "of a kilowatt-hour: what the energy cost", "PRICE");
    options.filled_value("--currency", currency_, "in which the price is", "WORD");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    names_.insert(names_.end(), rest.begin(), rest.end());
    if (json_ && markdown_) {
      complain(tr("report: as JSON or as Markdown, not both"));
      return exit_code::usage;
    }
    if (std::ranges::find(names_, "") != names_.end()) {
      complain(tr("report: the name of a run is empty (an unset variable?)"));
      return exit_code::usage;
    }
    if (names_.size() > most_runs) {
      complain(trf("report: at most {} runs at once", most_runs));
      return exit_code::usage;
    }
    ReportPrice price{.currency = currency_};
    if (!price_.empty()) {
      price.per_kwh = parse_decimal(price_);
      if (!price.per_kwh) {
        complain(trf("\"{}\" is no price: write for example --price 0.30", printable(price_)));
        return exit_code::usage;
      }
    }
    std::vector<ReportSource> sources;
    for (const std::string& name : names_) {
      auto source = gathered(context, name);
      if (!source) return report(source.error());
      sources.push_back(std::move(*source));
    }
    return answer(context, make_report(std::move(sources), price, context.clock().moment()));
  }

 private:
  static Result<ReportSource> gathered(Context& context, const std::string& name) {
    auto record = find_run(context, name);
    if (!record) return std::unexpected(record.error());
    return report_source(context, *record, Gather::all, context.clock().wall_now());
  }

  int answer(const Context& context, const Report& report_) const {
    const Style style = for_a_file(context.out());
    const std::string text = json_       ? report_json(report_)
                             : markdown_ ? report_markdown(report_, style)
                                         : report_html(report_, style);
    const bool to_stdout = output_ == "-" || (output_.empty() && (json_ || markdown_));
    if (to_stdout) {
      print(text);
      return exit_code::ok;
    }
    const std::string path = output_.empty() ? default_name(report_) : output_;
    const auto written =
        write_output(path, text, force_ ? Existing::replace : Existing::keep_unless_forced);
    if (!written) return report(written.error());
    print(printable(path) + "\n");
    return exit_code::ok;
  }

  /// "report-RUN.html", of several "report-RUN-RUN.html".
  static std::string default_name(const Report& report_) {
    std::string name = "report";
    for (const ReportRun& run : report_.runs) name += "-" + run.record.manifest.id;
    return name + ".html";
  }

  std::vector<std::string> names_;
  std::string output_;
  std::string price_;
  std::string currency_;
  bool force_ = false;
  bool markdown_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_report() { return std::make_unique<ReportVerb>(); }

}  // namespace berth
