#pragma once
// What the API's files share: answers written from values, pages of a list, numbers in a query.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_archive.h"
#include "serve/api.h"

namespace berth::serve {

/// One line. Names and commands in it are bytes of strangers: what is no UTF-8 becomes U+FFFD.
[[nodiscard]] HttpResponse json_answer(const std::function<void(Archive&)>& write);

struct Question {
  const HttpRequest& request;
  const Principal& principal;
  const RequestContext& context;
  std::string_view id;  // what "*" stands for in the route
};

/// A number in the query: from `least` to `most`, `otherwise` where it is not given. The error is
/// what to answer.
[[nodiscard]] std::expected<std::uint64_t, HttpResponse> number_parameter(
    const HttpRequest& request, const char* name, std::uint64_t otherwise, std::uint64_t least,
    std::uint64_t most);

[[nodiscard]] HttpResponse error_response(const Error& error);
/// 404
[[nodiscard]] HttpResponse no_such(std::string_view what, std::string_view name);

/// The items of a list that are asked for: those after the one whose id is `after`, at most
/// `limit`.
struct ListPage {
  std::size_t first = 0;
  std::size_t count = 0;
  std::optional<std::string> next;  // what to ask for them `after`; nothing: these are the last
};
[[nodiscard]] std::expected<ListPage, HttpResponse> page_in(
    const Question& question, std::size_t items,
    const std::function<std::string(std::size_t item)>& id_of);

/// The simulated server that everything answered is of; null: a real one.
[[nodiscard]] std::optional<std::string> simulated_in(const RequestContext& context);

/// {"simulated": …, NAME: the page of `items`, "next": …, and what `write_beside` adds}
template <class Item, class IdOf, class WriteItem>
[[nodiscard]] HttpResponse page_of(const Question& question, std::string_view name,
                                   const std::vector<Item>& items, const IdOf& id_of,
                                   const WriteItem& write_item,
                                   const std::function<void(Archive&)>& write_beside = {}) {
  const auto page =
      page_in(question, items.size(), [&](std::size_t item) { return id_of(items[item]); });
  if (!page) return page.error();
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", simulated_in(question.context));
    archive.derived_list(name, std::span(items).subspan(page->first, page->count),
                         [&](const Item& item) { write_item(archive, item); });
    archive.derived("next", page->next);
    if (write_beside) write_beside(archive);
  });
}

// The parts of the API, one per file. `id`: the last or the last but one part of the path.
/// "alerts": with the names of affected users, as far as the principal may see them.
void write_active_alerts(Archive& archive, const Principal& principal,
                         const RequestContext& context);

/// By its id, or by its index, which a card shares with no other card.
[[nodiscard]] bool is_called(const Device& device, std::string_view name);

[[nodiscard]] HttpResponse answer_embed(const Question& question);
[[nodiscard]] HttpResponse answer_gpu_status(const Question& question);
[[nodiscard]] HttpResponse answer_overview(const Question& question);
[[nodiscard]] HttpResponse answer_devices(const Question& question);
[[nodiscard]] HttpResponse answer_device(const Question& question);
[[nodiscard]] HttpResponse answer_topology(const Question& question);
[[nodiscard]] HttpResponse answer_visible_devices(const Question& question);
[[nodiscard]] HttpResponse answer_processes(const Question& question);
[[nodiscard]] HttpResponse answer_leases(const Question& question);
[[nodiscard]] HttpResponse answer_queue(const Question& question);
[[nodiscard]] HttpResponse answer_health(const Question& question);
[[nodiscard]] HttpResponse answer_hosts(const Question& question);
[[nodiscard]] HttpResponse answer_alerts(const Question& question);
[[nodiscard]] HttpResponse answer_healthz(const Question& question);
[[nodiscard]] HttpResponse answer_metrics(const Question& question);
[[nodiscard]] HttpResponse answer_runs(const Question& question);
[[nodiscard]] HttpResponse answer_run(const Question& question);
[[nodiscard]] HttpResponse answer_run_samples(const Question& question);
[[nodiscard]] HttpResponse answer_run_log(const Question& question);
[[nodiscard]] HttpResponse answer_run_explanation(const Question& question);
[[nodiscard]] HttpResponse answer_run_report(const Question& question);
[[nodiscard]] HttpResponse answer_history(const Question& question);
[[nodiscard]] HttpResponse answer_recent(const Question& question);
[[nodiscard]] HttpResponse answer_usage(const Question& question);
[[nodiscard]] HttpResponse answer_timeline(const Question& question);
[[nodiscard]] HttpResponse answer_events_log(const Question& question);
[[nodiscard]] HttpResponse answer_release(const Question& question);
[[nodiscard]] HttpResponse answer_signal(const Question& question);
[[nodiscard]] HttpResponse answer_sign_in(const Question& question);
[[nodiscard]] HttpResponse answer_sign_in_link(const Question& question);
[[nodiscard]] HttpResponse answer_compose(const Question& question);

/// The part of the newest snapshot that the principal may see.
[[nodiscard]] std::shared_ptr<const Snapshot> seen_by(const Principal& principal,
                                                      const RequestContext& context);

}  // namespace berth::serve
