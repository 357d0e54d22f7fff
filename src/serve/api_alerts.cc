// Alerts: what goes on, what was lately resolved, and whether those who are to be told are reached.

#include "alert/json.h"
#include "serve/alert_message.h"
#include "serve/api_json.h"

namespace berth::serve {

namespace {

/// Names that the asker may see, of whom it is about.
std::vector<std::string> names_seen(const Alert& alert, const Asker& asker, const World& world) {
  std::vector<std::string> names;
  for (const AlertUser& user : alert.users) {
    const bool shown = insight(asker, user.uid, world.policy, *world.book) >= Insight::names;
    if (shown) names.push_back(user.name);
  }
  return names;
}

Json delivery_json(const DeliveryFigures& figures, const Asker& asker) {
  return {
      {"receiver", figures.receiver},
      {"kind", name_of(figures.kind)},
      {"min_severity", name_of(figures.least)},
      {"waiting", figures.waiting},
      {"delivered", figures.delivered},
      {"failed", figures.failed},
      {"dropped", figures.dropped},
      {"last_delivered_unix_ms", time_or_null(figures.last_delivered)},
      {"last_failed_unix_ms", time_or_null(figures.last_failed)},
      {"is_failing", !figures.trouble.empty()},
      // It may name hosts and programs that are nobody's business.
      {"trouble", figures.trouble.empty() || !asker.admin ? Json(nullptr) : Json(figures.trouble)}};
}

}  // namespace

Json alert_json(const Alert& alert, const std::vector<std::string>& names) {
  return json_of(alert, AlertFields::shown, summary_with(alert.summary, names));
}

std::string alert_line(const Alert& alert, const Asker& asker, const World& world) {
  return dumped(alert_json(alert, names_seen(alert, asker, world)));
}

Json active_alerts_json(const Asker& asker, const World& world) {
  Json list = Json::array();
  if (world.alerts == nullptr) return list;
  for (const Alert& alert : world.alerts->active) {
    list.push_back(alert_json(alert, names_seen(alert, asker, world)));
  }
  return list;
}

Response answer_alerts(const Question& question) {
  const World& world = question.world;
  Json list = active_alerts_json(question.asker, world);
  Json deliveries = Json::array();
  if (world.alerts != nullptr) {
    for (const Alert& alert : world.alerts->ended) {
      list.push_back(alert_json(alert, names_seen(alert, question.asker, world)));
    }
    for (const DeliveryFigures& figures : world.alerts->deliveries) {
      deliveries.push_back(delivery_json(figures, question.asker));
    }
  }
  return page_of(question, "alerts", std::move(list), "id",
                 {{"deliveries", std::move(deliveries)}});
}

}  // namespace berth::serve
