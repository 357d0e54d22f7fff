// Alerts: what goes on, what was lately resolved, and whether the receivers are reached.

#include "serve/alert_message.h"
#include "serve/api_json.h"

namespace berth::serve {

namespace {

/// The names of affected users that the principal may see.
std::vector<std::string> names_seen(const Alert& alert, const Principal& principal,
                                    const RequestContext& context) {
  std::vector<std::string> names;
  for (const AlertUser& user : alert.users) {
    const bool shown =
        access_level(principal, user.uid, context.visibility, *context.book) >= AccessLevel::names;
    if (shown) names.push_back(user.name);
  }
  return names;
}

void write_delivery(Archive& archive, const DeliveryFigures& figures, const Principal& principal) {
  archive.derived("receiver", figures.receiver);
  archive.derived("kind", name_of(figures.kind));
  archive.derived("min_severity", name_of(figures.least));
  archive.derived("waiting", figures.waiting);
  archive.derived("delivered", figures.delivered);
  archive.derived("failed", figures.failed);
  archive.derived("dropped", figures.dropped);
  archive.derived("last_delivered_unix_ms", figures.last_delivered);
  archive.derived("last_failed_unix_ms", figures.last_failed);
  archive.derived("is_failing", !figures.trouble.empty());
  // It may name hosts and programs that are nobody's business.
  archive.derived("trouble", principal.admin ? figures.trouble : std::string(), Form::nullable);
}

void write_seen(Archive& archive, const Alert& alert, const Principal& principal,
                const RequestContext& context) {
  write_alert(archive, alert, names_seen(alert, principal, context));
}

}  // namespace

std::string alert_line(const Alert& alert, const Principal& principal,
                       const RequestContext& context) {
  return write_json(JsonLayout::compact,
                    [&](Archive& archive) { write_seen(archive, alert, principal, context); });
}

void write_active_alerts(Archive& archive, const Principal& principal,
                         const RequestContext& context) {
  archive.derived_list("alerts", context.alerts ? context.alerts->active : std::vector<Alert>(),
                       [&](const Alert& alert) { write_seen(archive, alert, principal, context); });
}

HttpResponse answer_alerts(const Question& question) {
  const RequestContext& context = question.context;
  const AlertBoard board = context.alerts ? *context.alerts : AlertBoard();
  std::vector<Alert> alerts = board.active;
  alerts.insert(alerts.end(), board.ended.begin(), board.ended.end());
  return page_of(
      question, "alerts", alerts, [](const Alert& alert) { return alert.id; },
      [&](Archive& archive, const Alert& alert) {
        write_seen(archive, alert, question.principal, context);
      },
      [&](Archive& archive) {
        archive.derived_list("deliveries", board.deliveries, [&](const DeliveryFigures& figures) {
          write_delivery(archive, figures, question.principal);
        });
      });
}

}  // namespace berth::serve
