// `berth spec`: what a card is, whether it is here or not.

#include <algorithm>

#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "cards/card.h"
#include "cards/find.h"
#include "view/spec_text.h"

namespace berth {

namespace {

class SpecVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.words("NAME", names_, "cards: 3090, \"rtx 3090\", \"h100 sxm\" (those here)");
    options.flag("--list", list_, "every card of the table in a line");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    names_.insert(names_.end(), rest.begin(), rest.end());
    if (list_ && !names_.empty()) {
      complain(tr("--list shows every card: leave the names away"));
      return exit_code::usage;
    }
    if (list_) return listed(context);
    return names_.empty() ? here(context) : called(context.out());
  }

 private:
  int answer(const SpecAnswer& answer, const Style& style) const {
    print(json_ ? spec_json(answer) : render_spec(answer, style));
    return exit_code::ok;
  }

  int listed(const Context& context) const {
    if (!json_) {
      print(render_card_list(context.out_uncut()));
      return exit_code::ok;
    }
    SpecAnswer all;
    for (const Card& card : all_cards()) all.subjects.push_back({&card, nullptr, {}});
    return answer(all, context.out());
  }

  int here(Context& context) const {
    const auto snapshot = context.look(Depth::details);
    if (!snapshot) return report(snapshot.error());
    const SpecAnswer found{cards_here(*snapshot), snapshot->simulated};
    if (found.subjects.empty()) {
      complain(tr("no card is here; of any other: berth spec NAME, and berth spec --list for all"));
      if (json_) print(spec_json(found));
      return exit_code::failed;
    }
    return answer(found, context.out());
  }

  int called(const Style& style) const {
    SpecAnswer found;
    for (const std::string& name : names_) {
      const auto cards = cards_called(name);
      if (cards.empty()) return unknown(name);
      for (const Card* card : cards) {
        const bool again = std::ranges::any_of(
            found.subjects, [&](const SpecSubject& subject) { return subject.card == card; });
        if (!again) found.subjects.push_back({card, nullptr, {}});
      }
    }
    return answer(found, style);
  }

  static int unknown(const std::string& name) {
    complain(trf("no card is called \"{}\"; similar ones: {}; berth spec --list has them all",
                 cut_to_width(printable(name), 60, true), joined(similar_names(name, 4), ", ")));
    return exit_code::failed;
  }

  std::vector<std::string> names_;
  bool list_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_spec() { return std::make_unique<SpecVerb>(); }

}  // namespace berth
