// Choosing, claiming, waiting: questions to the helper, and the lease that comes back.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "lib/ask.h"

namespace berth::lib {

namespace {

/// A descriptor that no shell script or program counts on being its own.
constexpr int lowest_descriptor = 100;
/// Sentences and news that one step hears out: a helper has never so many.
constexpr int most_heard = 10'000;

/// The request in the words of `berth run`'s flags, the one parser's.
struct Asked {
  Json words = Json::object();
  bool after_init = false;
  bool record = false;
};

Outcome read_request(const berth_request* request, Asked& asked) {
  berth_request known{};
  if (!read_struct(request, known)) {
    return Failure(BERTH_E_INVALID,
                   "the request's struct_size is not set, or it asks for what this older library "
                   "does not know");
  }
  if (known.devices < 0) return Failure(BERTH_E_INVALID, "a request wants at least one device");
  if (known.devices > 0) asked.words["devices"] = std::to_string(known.devices);
  const auto put = [&](const char* key, const char* value) {
    if (value != nullptr && *value != '\0') asked.words[key] = value;
  };
  put("memory", known.memory);
  put("only", known.only);
  put("except", known.except);
  put("prefer", known.prefer);
  put("min_compute", known.min_compute);
  put("need", known.need);
  put("idle_for", known.idle_for);
  put("name", known.name);
  put("kind", known.kind);
  constexpr std::size_t longest_request = 16 << 10;
  if (json_line(asked.words).size() > longest_request) {
    return Failure(BERTH_E_INVALID, "the request is longer than any that makes sense");
  }
  asked.after_init = known.after_init != 0;
  asked.record = known.record != 0;
  return std::nullopt;
}

/// A share of one's own lease would not outlive it, and would be no device more.
Outcome is_within_own() {
  const char* within = std::getenv("BERTH_LEASE");
  const std::string own = within == nullptr ? std::string() : OwnLeases::all().in(within);
  if (own.empty()) return std::nullopt;
  return Failure(BERTH_E_BUSY, "leasing a device: this process holds the lease " + own +
                                   " already; lease all its devices at once, or give that one back "
                                   "first");
}

Json question_of_lease(const Asked& asked, std::int64_t wait_ms) {
  return {{"ask", "lease"},         {"request", asked.words},     {"wait_ms", wait_ms},
          {"record", asked.record}, {"fields", fields_of_device}, {"variables", own_variables()}};
}

std::unique_ptr<berth_answer> answer_in(const Message& message) {
  const auto placement = message.json.find("placement");
  if (placement == message.json.end()) return nullptr;
  auto answer = std::make_unique<berth_answer>();
  answer->placement = *placement;
  answer->text = placement->dump();
  return answer;
}

/// " (-n 9): 5 would do; GPU 0: in use by a process without a lease; …": the first few, the answer
/// has them all.
std::string reasons_in(const Json& placement) {
  constexpr std::size_t most_told = 4;
  const Json refused = placement.value("refused", Json::array());
  const std::size_t would_do = placement.value("available", Json::array()).size();
  std::string reasons = " (" + placement.value("asked_for", "") +
                        "): " + (would_do == 0 ? "none" : std::to_string(would_do)) + " of " +
                        std::to_string(would_do + refused.size()) + " would do";
  for (std::size_t at = 0; at < std::min(refused.size(), most_told); ++at) {
    const Json& one = refused[at];
    const Json index = one.value("index", Json());
    const std::string name =
        index.is_number() ? "GPU " + std::to_string(index.get<int>()) : one.value("id", "");
    reasons += "; " + name + ": " + one.value("text", "");
  }
  if (refused.size() > most_told) {
    reasons += "; and " + std::to_string(refused.size() - most_told) + " more";
  }
  return reasons;
}

Outcome refusal_in(const Message& message) {
  const auto refused = message.json.find("refused");
  if (refused == message.json.end()) return std::nullopt;
  const std::string reasons = reasons_in(message.json.value("placement", Json::object()));
  if (*refused == "never") {
    return Failure(BERTH_E_NEVER,
                   "leasing devices: this machine never has what was asked for" + reasons);
  }
  return Failure(BERTH_E_NONE_FREE, "leasing devices: there are not enough now" + reasons);
}

Result<std::unique_ptr<berth_lease>> lease_in(Message& message, bool after_init) {
  auto made = std::make_unique<berth_lease>();
  const Json lease = std::move(message.json["lease"]);
  made->id = lease.value("id", "");
  made->run = lease.value("run", "");
  made->file = lease.value("file", "");
  made->inside = lease.value("inside", "");
  made->is_recorded = lease.value("recorded", false);
  const Json variables = lease.value("variables", Json::array());
  for (const Json& pair : variables) {
    made->variables.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  }
  made->look = look_in(message);
  const Json devices = made->look.snapshot().value("devices", Json::array());
  const Json leased = lease.value("devices", Json::array());
  for (const Json& id : leased) {
    for (std::size_t at = 0; at < devices.size(); ++at) {
      if (devices[at].value("id", "") == id.get<std::string>()) made->devices.push_back(at);
    }
  }
  made->descriptor = Fd(::fcntl(message.descriptor.get(), F_DUPFD_CLOEXEC, lowest_descriptor));
  if (!made->descriptor.is_open()) return fail_system(errno, "keep the lease's descriptor");
  made->owner = ::getpid();
  OwnLeases::all().add(made->id);
  made->shows_after_init = after_init;
  return made;
}

Outcome question_of_pick(const berth_request* request, Json& question) {
  Asked asked;
  if (auto wrong = read_request(request, asked)) return wrong;
  question = {{"ask", "pick"}, {"request", asked.words}, {"variables", own_variables()}};
  return std::nullopt;
}

Outcome take_answer(const Message& message, berth_answer** answer) {
  if (auto failed = failure_in(message)) return failed;
  auto made = answer_in(message);
  if (!made) return Failure(BERTH_E_BUG, "choosing a device: the helper's answer has none");
  *answer = made.release();
  return std::nullopt;
}

Outcome pick(berth_context& context, const berth_request* request, berth_answer** answer) {
  Json question;
  if (auto wrong = question_of_pick(request, question)) return wrong;
  const auto message = answer_to(context, berth_context::Asked::pick, question);
  if (!message) return Failure(message.error());
  return take_answer(*message, answer);
}

Outcome begin_pick(berth_context& context, const berth_request* request, int* fd, int* due_ms) {
  Json question;
  if (auto wrong = question_of_pick(request, question)) return wrong;
  const auto begun = begin(context, berth_context::Asked::pick, question);
  if (!begun) return Failure(begun.error());
  tell_poll(context, fd, due_ms);
  return std::nullopt;
}

Outcome advance_pick(berth_context& context, berth_answer** answer, int* due_ms) {
  const auto message = advance(context, berth_context::Asked::pick);
  if (!message) return Failure(message.error());
  tell_poll(context, nullptr, due_ms);
  return *message ? take_answer(**message, answer) : std::nullopt;
}

/// Where the answer comes at once the context's own helper gives it. A wait, or a kept record, has
/// a helper of its own, and keeps that busy.
Outcome begin_wait(berth_context& context, const berth_request* request, std::int64_t wait_ms,
                   berth_wait** wait) {
  Asked asked;
  if (auto wrong = read_request(request, asked)) return wrong;
  if (auto late = too_late(asked.after_init)) return late;
  if (auto nested = is_within_own()) return nested;
  auto place = helper_place(context);
  if (!place) return Failure(place.error());
  auto made = std::make_unique<berth_wait>();
  made->after_init = asked.after_init;
  made->note = context.note;
  const bool is_lent = wait_ms == 0 && !asked.record;
  if (is_lent) made->lent_by = context.helper;
  auto question =
      Question::ask(is_lent ? take_idle_helper(context) : std::nullopt, *std::move(place),
                    question_of_lease(asked, wait_ms),
                    wait_ms == 0 ? Question::Answered::soon : Question::Answered::in_the_queue);
  if (!question) return Failure(question.error());
  made->question.emplace(*std::move(question));
  *wait = made.release();
  return std::nullopt;
}

/// The wait is over; a helper that was lent has nothing more to say, and goes back.
void give_back_helper(berth_wait& wait) {
  const auto context = wait.lent_by.lock();
  if (context && !*context) context->emplace(std::move(*wait.question).take_helper());
  wait.question.reset();
}

Outcome step(berth_wait& wait, berth_lease** lease, berth_answer** why_not) {
  if (!wait.question) return Failure(BERTH_E_INVALID, "this wait is over");
  if (!wait.question->is_ours()) {
    return Failure(BERTH_E_INVALID,
                   "this wait is of the process that this one was forked from: begin another");
  }
  for (int heard = 0; heard < most_heard; ++heard) {
    auto message = wait.question->receive();
    if (!message) {
      wait.question.reset();
      if (wait.is_left) return Failure(BERTH_E_NOT_FOUND, "this wait was left");
      return Failure(message.error());
    }
    if (!*message) return std::nullopt;
    Message& got = **message;
    if (is_note(got, wait.note)) continue;
    if (const auto news = got.json.find("news"); news != got.json.end()) {
      wait.news = news->dump();
      continue;
    }
    const auto failed = failure_in(got);
    const auto refused = failed ? std::nullopt : refusal_in(got);
    if (failed || refused) {
      if (why_not != nullptr) *why_not = answer_in(got).release();
      if (refused) wait.news = Json{{"position", 0}, {"placement", got.json["placement"]}}.dump();
      give_back_helper(wait);
      return failed ? failed : refused;
    }
    auto made = lease_in(got, wait.after_init);
    if (made && (*made)->is_recorded) {
      (*made)->keeper.emplace(std::move(*wait.question).take_helper());
      wait.question.reset();
    } else {
      give_back_helper(wait);
    }
    if (!made) return Failure(made.error());
    *lease = made->release();
    return std::nullopt;
  }
  wait.question.reset();
  return Failure(BERTH_E_IO, "waiting for a device: the helper talks without end");
}

Outcome acquire(berth_context& context, const berth_request* request, berth_lease** lease,
                berth_answer** why_not) {
  berth_wait* begun = nullptr;
  if (auto failed = begin_wait(context, request, 0, &begun)) return failed;
  const std::unique_ptr<berth_wait> wait(begun);
  while (true) {
    auto failed = step(*wait, lease, why_not);
    if (failed || *lease != nullptr) return failed;
    wait->question->wait();
  }
}

Outcome leave(berth_wait& wait) {
  if (!wait.question || !wait.question->is_ours()) {
    return Failure(BERTH_E_INVALID, "this wait is over, or of another process");
  }
  wait.is_left = true;
  wait.question->leave();
  return std::nullopt;
}

Failure nothing_given() { return {BERTH_E_INVALID, "an argument that is needed is NULL"}; }

}  // namespace

}  // namespace berth::lib

using berth::lib::at_border;
using berth::lib::nothing_given;
using berth::lib::Outcome;

extern "C" {

berth_code berth_pick(berth_context* context, const berth_request* request, berth_answer** answer,
                      berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || answer == nullptr) return nothing_given();
    *answer = nullptr;
    return berth::lib::pick(*context, request, answer);
  });
}

berth_code berth_pick_begin(berth_context* context, const berth_request* request, int* fd,
                            int* due_ms, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || fd == nullptr || due_ms == nullptr) return nothing_given();
    return berth::lib::begin_pick(*context, request, fd, due_ms);
  });
}

berth_code berth_pick_advance(berth_context* context, berth_answer** answer, int* due_ms,
                              berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || answer == nullptr || due_ms == nullptr) return nothing_given();
    *answer = nullptr;
    return berth::lib::advance_pick(*context, answer, due_ms);
  });
}

int berth_answer_satisfied(const berth_answer* answer) {
  return answer != nullptr && answer->placement.value("satisfied", false) ? 1 : 0;
}

int berth_answer_possible(const berth_answer* answer) {
  return answer != nullptr && answer->placement.value("possible", false) ? 1 : 0;
}

const char* berth_answer_json(const berth_answer* answer) {
  return answer == nullptr ? "" : answer->text.c_str();
}

void berth_answer_free(berth_answer* answer) { delete answer; }

berth_code berth_acquire(berth_context* context, const berth_request* request, berth_lease** lease,
                         berth_answer** why_not, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || lease == nullptr) return nothing_given();
    *lease = nullptr;
    if (why_not != nullptr) *why_not = nullptr;
    return berth::lib::acquire(*context, request, lease, why_not);
  });
}

berth_code berth_wait_begin(berth_context* context, const berth_request* request, int64_t wait_ms,
                            berth_wait** wait, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || wait == nullptr) return nothing_given();
    *wait = nullptr;
    return berth::lib::begin_wait(*context, request, wait_ms, wait);
  });
}

int berth_wait_fd(const berth_wait* wait) {
  return wait == nullptr || !wait->question ? -1 : wait->question->descriptor();
}

berth_code berth_wait_step(berth_wait* wait, berth_lease** lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (wait == nullptr || lease == nullptr) return nothing_given();
    *lease = nullptr;
    return berth::lib::step(*wait, lease, nullptr);
  });
}

const char* berth_wait_news_json(const berth_wait* wait) {
  return wait == nullptr ? "" : wait->news.c_str();
}

berth_code berth_wait_leave(berth_wait* wait, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (wait == nullptr) return nothing_given();
    return berth::lib::leave(*wait);
  });
}

void berth_wait_free(berth_wait* wait) { berth::lib::take_down(wait); }
}
