// `berth usage`: who had how much of the devices, what it took, and who waited.

#include "app/history_options.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/history_text.h"

namespace berth {

namespace {

class UsageVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.choice("--by", by_, "by what (user)", "KEY", {"user", "job", "gpu", "day"});
    words_.declare(options);
    options.filled_value("--price", price_, "of a kilowatt-hour: what the energy cost", "PRICE");
    options.filled_value("--currency", currency_, "in which the price is", "WORD");
    options.flag("--json", json_, "as JSON");
    options.flag("--csv", csv_, "as CSV");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("usage takes no word \"{}\"", printable(rest.front())));
      return exit_code::usage;
    }
    UsageQuery query{.by = usage_by_from_name(by_).value_or(UsageBy::user),
                     .offset_at = local_offset_at};
    if (!price_.empty()) {
      query.price_per_kwh = parse_decimal(price_);
      if (!query.price_per_kwh) {
        complain(trf("\"{}\" is no price: write for example --price 0.30", printable(price_)));
        return exit_code::usage;
      }
    }
    const WallTime now = context.clock().wall_now();
    const auto window = words_.window(now, "30d");
    if (!window) return report(window.error(), exit_code::usage);
    query.since = window->since;
    query.until = window->until;
    auto reader = words_.open(context);
    if (!reader) return report(reader.error());
    const auto facts = reader->facts();
    if (!facts) return report(facts.error());
    const auto usage = reader->usage(query);
    if (!usage) return report(usage.error());
    if (csv_) say_simulated(facts->simulated);
    const Style style = context.out_uncut();
    print(json_  ? usage_json(*usage, facts->simulated, currency_)
          : csv_ ? usage_csv(*usage)
                 : render_usage(*usage, *facts, currency_, now, style));
    return exit_code::ok;
  }

 private:
  HistoryOptionWords words_;
  std::string by_ = "user";
  std::string price_;
  std::string currency_;
  bool json_ = false;
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_usage() { return std::make_unique<UsageVerb>(); }

}  // namespace berth
