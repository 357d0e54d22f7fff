// Choosing, claiming, waiting: questions to the helper, and the lease that comes back.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "lib/ask.h"

namespace berth::lib {

namespace {

/// A descriptor that no shell script or program counts on being its own.
constexpr int lowest_descriptor = 100;
/// A look takes 5 s at most where a card hangs, and 30 s where a driver starts its cards.
constexpr int patience_with_looks_ms = 60'000;

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
  asked.after_init = known.after_init != 0;
  asked.record = known.record != 0;
  return std::nullopt;
}

Outcome too_late(const Asked& asked) {
  if (asked.after_init) return std::nullopt;
  const berth_cuda state = berth_cuda_state();
  if (state != BERTH_CUDA_STARTED && state != BERTH_CUDA_INHERITED) return std::nullopt;
  return Failure(BERTH_E_CUDA_STARTED,
                 "leasing a device: CUDA has started in this process and reads "
                 "CUDA_VISIBLE_DEVICES no more; lease before the first call of CUDA (in PyTorch "
                 "torch.cuda.is_available() is one), or ask for a device that it sees already "
                 "(after_init)");
}

Json question_of_lease(const Asked& asked, std::int64_t wait_ms) {
  return {{"ask", "lease"},
          {"request", asked.words},
          {"wait_ms", wait_ms},
          {"record", asked.record},
          {"variables", own_variables()}};
}

std::unique_ptr<berth_answer> answer_in(const Message& message) {
  const auto placement = message.json.find("placement");
  if (placement == message.json.end()) return nullptr;
  auto answer = std::make_unique<berth_answer>();
  answer->placement = *placement;
  answer->text = placement->dump();
  return answer;
}

/// "GPU 0: in use by a process without a lease; …": the first few, the answer has them all.
std::string reasons_in(const Json& placement) {
  constexpr std::size_t most_told = 4;
  std::string reasons;
  const Json refused = placement.value("refused", Json::array());
  for (std::size_t at = 0; at < std::min(refused.size(), most_told); ++at) {
    const Json& one = refused[at];
    const Json index = one.value("index", Json());
    const std::string name =
        index.is_number() ? "GPU " + std::to_string(index.get<int>()) : one.value("id", "");
    reasons += (at == 0 ? ": " : "; ") + name + ": " + one.value("text", "");
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
                   "leasing a device: this machine never has what was asked for" + reasons);
  }
  return Failure(BERTH_E_NONE_FREE, "leasing a device: none that would do is free now" + reasons);
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
      if (devices[at].value("id", "") == id) made->devices.push_back(at);
    }
  }
  made->descriptor = Fd(::fcntl(message.descriptor.get(), F_DUPFD_CLOEXEC, lowest_descriptor));
  if (!made->descriptor.is_open()) return fail_system("keep the lease's descriptor", errno);
  made->owner = ::getpid();
  made->shows_after_init = after_init;
  return made;
}

/// The end of a lease's life: a file that is still its own goes, and with it the promise.
Outcome end(berth_lease& lease) {
  struct stat held{};
  struct stat named{};
  const bool is_its_own = ::fstat(lease.descriptor.get(), &held) == 0 &&
                          ::lstat(lease.file.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
                          held.st_dev == named.st_dev;
  if (is_its_own && ::unlink(lease.file.c_str()) != 0 && errno != ENOENT) {
    return Failure(system_error("remove the lease " + lease.file, errno));
  }
  std::error_code ignored;
  if (!lease.inside.empty()) std::filesystem::remove_all(lease.inside, ignored);
  if (lease.keeper) (void)lease.keeper->ask({{"ask", "end"}});
  lease.descriptor.close();
  return std::nullopt;
}

Outcome pick(berth_context& context, const berth_request* request, berth_answer** answer) {
  Asked asked;
  if (auto wrong = read_request(request, asked)) return wrong;
  auto message = answer_to(
      context, {{"ask", "pick"}, {"request", asked.words}, {"variables", own_variables()}});
  if (!message) return Failure(message.error());
  if (auto failed = failure_in(*message)) return failed;
  auto made = answer_in(*message);
  if (!made) return Failure(BERTH_E_BUG, "choosing a device: the helper's answer has none");
  *answer = made.release();
  return std::nullopt;
}

/// The context's own, where the answer comes at once. Who waits or keeps a record is busy with it,
/// and has one of its own.
Outcome lend_helper(berth_context& context, berth_wait& wait, const Json& question) {
  auto helper = helper_of(context);
  if (!helper) return Failure(helper.error());
  if (!(*helper)->ask(question)) {  // it had ended, as nobody asked it for a minute
    context.helper->reset();
    helper = helper_of(context);
    if (!helper) return Failure(helper.error());
    if (const auto said = (*helper)->ask(question); !said) return Failure(said.error());
  }
  wait.helper = std::exchange(*context.helper, std::nullopt);
  wait.lent_by = context.helper;
  return std::nullopt;
}

Outcome begin_wait(berth_context& context, const berth_request* request, std::int64_t wait_ms,
                   berth_wait** wait) {
  Asked asked;
  if (auto wrong = read_request(request, asked)) return wrong;
  if (auto late = too_late(asked)) return late;
  auto made = std::make_unique<berth_wait>();
  made->after_init = asked.after_init;
  made->note = context.note;
  const Json question = question_of_lease(asked, wait_ms);
  if (wait_ms == 0 && !asked.record && !context.is_looking) {
    if (auto failed = lend_helper(context, *made, question)) return failed;
  } else {
    const auto place = helper_place(context);
    if (!place) return Failure(place.error());
    auto helper = HelperClient::start(*place);
    if (!helper) return Failure(helper.error());
    if (const auto said = helper->ask(question); !said) return Failure(said.error());
    made->helper.emplace(*std::move(helper));
  }
  *wait = made.release();
  return std::nullopt;
}

/// The wait is over; a helper that was lent has nothing more to say, and goes back.
void give_back_helper(berth_wait& wait) {
  const auto context = wait.lent_by.lock();
  if (context && !*context) *context = std::move(wait.helper);
  wait.helper.reset();
}

Outcome step(berth_wait& wait, berth_lease** lease, berth_answer** why_not) {
  if (!wait.helper) return Failure(BERTH_E_INVALID, "this wait is over");
  if (!wait.helper->is_ours()) {
    return Failure(BERTH_E_INVALID,
                   "this wait is of the process that this one was forked from: begin another");
  }
  while (true) {
    auto message = wait.helper->receive();
    if (!message) {
      wait.helper.reset();
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
      (*made)->keeper = std::exchange(wait.helper, std::nullopt);
    } else {
      give_back_helper(wait);
    }
    if (!made) return Failure(made.error());
    *lease = made->release();
    return std::nullopt;
  }
}

/// A record is kept by a helper of its own.
Outcome acquire_recorded(berth_context& context, const berth_request* request, berth_lease** lease,
                         berth_answer** why_not) {
  berth_wait* begun = nullptr;
  if (auto failed = begin_wait(context, request, 0, &begun)) return failed;
  const std::unique_ptr<berth_wait> wait(begun);
  while (*lease == nullptr) {
    if (auto failed = step(*wait, lease, why_not)) return failed;
    if (*lease == nullptr && !wait->helper->wait_readable(patience_with_looks_ms)) {
      return Failure(BERTH_E_TIMEOUT, "leasing a device: the helper does not answer");
    }
  }
  return std::nullopt;
}

Outcome acquire(berth_context& context, const berth_request* request, berth_lease** lease,
                berth_answer** why_not) {
  Asked asked;
  if (auto wrong = read_request(request, asked)) return wrong;
  if (auto late = too_late(asked)) return late;
  if (asked.record) return acquire_recorded(context, request, lease, why_not);
  auto message = answer_to(context, question_of_lease(asked, 0));
  if (!message) return Failure(message.error());
  if (auto failed = failure_in(*message)) return failed;
  if (auto refused = refusal_in(*message)) {
    if (why_not != nullptr) *why_not = answer_in(*message).release();
    return refused;
  }
  auto made = lease_in(*message, asked.after_init);
  if (!made) return Failure(made.error());
  *lease = made->release();
  return std::nullopt;
}

Outcome apply(berth_lease& lease) {
  if (lease.owner != ::getpid()) {
    return Failure(BERTH_E_INVALID, "the lease is of the process that this one was forked from");
  }
  Asked asked{.after_init = lease.shows_after_init};
  if (asked.after_init) return std::nullopt;
  if (auto late = too_late(asked)) return late;
  for (const auto& [name, value] : lease.variables) ::setenv(name.c_str(), value.c_str(), 1);
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
  return wait == nullptr || !wait->helper ? -1 : wait->helper->descriptor();
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

void berth_wait_free(berth_wait* wait) { delete wait; }

const char* berth_lease_id(const berth_lease* lease) {
  return lease == nullptr ? "" : lease->id.c_str();
}

const char* berth_lease_run(const berth_lease* lease) {
  return lease == nullptr ? "" : lease->run.c_str();
}

size_t berth_lease_devices(const berth_lease* lease) {
  return lease == nullptr ? 0 : lease->devices.size();
}

berth_code berth_lease_device(const berth_lease* lease, size_t at, berth_device* device) {
  if (lease == nullptr || at >= lease->devices.size()) return BERTH_E_INVALID;
  // Applied, the lease's devices are all that is seen, in its order.
  std::optional<int> ordinal;
  if (!lease->shows_after_init) ordinal = static_cast<int>(at);
  return at_border(nullptr, [&] {
    return berth::lib::device_at(lease->look, lease->devices[at], device, ordinal);
  });
}

size_t berth_lease_variables(const berth_lease* lease) {
  return lease == nullptr ? 0 : lease->variables.size();
}

const char* berth_lease_variable(const berth_lease* lease, size_t at, const char** value) {
  if (lease == nullptr || at >= lease->variables.size()) return nullptr;
  if (value != nullptr) *value = lease->variables[at].second.c_str();
  return lease->variables[at].first.c_str();
}

berth_code berth_lease_apply(berth_lease* lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (lease == nullptr) return nothing_given();
    return berth::lib::apply(*lease);
  });
}

int berth_lease_fd(const berth_lease* lease) {
  return lease == nullptr ? -1 : lease->descriptor.get();
}

berth_code berth_lease_free(berth_lease* lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (lease == nullptr) return std::nullopt;
    if (lease->owner != ::getpid()) {
      (void)lease->descriptor.release();  // it keeps the lease until this process ends
    } else if (auto failed = berth::lib::end(*lease)) {
      return failed;  // it still holds, and may be tried again
    }
    delete lease;
    return std::nullopt;
  });
}
}
