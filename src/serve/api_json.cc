#include "serve/api_json.h"

#include <algorithm>

#include "base/text.h"

namespace berth::serve {

namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return 404;
    case ErrorCode::no_permission:
      return 403;
    case ErrorCode::invalid:
      return 400;
    case ErrorCode::busy:
    case ErrorCode::timeout:
    case ErrorCode::io:
      return 503;
  }
  return 503;
}

}  // namespace

HttpResponse json_answer(const std::function<void(Archive&)>& write) {
  return json_response(write_json(JsonLayout::compact, write) + "\n");
}

std::expected<std::uint64_t, HttpResponse> number_parameter(const HttpRequest& request,
                                                            const char* name,
                                                            std::uint64_t otherwise,
                                                            std::uint64_t least,
                                                            std::uint64_t most) {
  const auto text = parameter_of(request, name);
  if (!text) return otherwise;
  const auto number = parse_unsigned(*text);
  if (number && *number >= least && *number <= most) return *number;
  return std::unexpected(error_response(
      400, "bad_parameter", std::string(name) + "=" + printable(*text) + " cannot be used",
      "give a number from " + std::to_string(least) + " to " + std::to_string(most)));
}

HttpResponse error_response(const Error& error) {
  std::string code(name_of(error.code()));
  std::ranges::replace(code, ' ', '_');
  return error_response(status_of(error.code()), code, error.message(), "");
}

HttpResponse no_such(std::string_view what, std::string_view name) {
  return error_response(404, "not_found",
                        "there is no " + std::string(what) + " " + printable(name), "");
}

std::optional<std::string> simulated_in(const RequestContext& context) {
  return context.snapshot ? context.snapshot->simulated : context.simulated;
}

std::expected<ListPage, HttpResponse> page_in(
    const Question& question, std::size_t items,
    const std::function<std::string(std::size_t)>& id_of) {
  const HttpRequest& request = question.request;
  constexpr std::uint64_t most = 10'000;
  const auto limit = number_parameter(request, "limit", 1000, 1, most);
  if (!limit) return std::unexpected(limit.error());
  const std::string_view after = parameter_of(request, "after").value_or("");
  ListPage page;
  if (!after.empty()) {
    while (page.first < items && id_of(page.first) != after) ++page.first;
    if (page.first == items) {
      return std::unexpected(error_response(400, "bad_parameter",
                                            "after=" + printable(after) + " names nothing here",
                                            "it may have ended: begin the list again without it"));
    }
    ++page.first;
  }
  page.count = std::min<std::size_t>(*limit, items - page.first);
  const std::size_t end = page.first + page.count;
  if (end < items) page.next = id_of(end - 1);
  return page;
}

std::shared_ptr<const Snapshot> seen_by(const Principal& principal, const RequestContext& context) {
  if (context.views) return context.views->of(principal);
  return ViewCache(context.snapshot, context.visibility, context.book).of(principal);
}

}  // namespace berth::serve
