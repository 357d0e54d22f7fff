// Where to look: a context, what it asks its helper, and its looks.

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/sentence.h"
#include "lib/ask.h"

namespace berth::lib {

namespace {

std::string text_of(const char* text) { return text == nullptr ? std::string() : text; }

std::string variable(const char* name) { return text_of(std::getenv(name)); }

}  // namespace

Failure no_context() { return {BERTH_E_INVALID, "there is no context: berth_open() makes one"}; }

Result<HelperPlace> helper_place(berth_context& context) {
  HelperPlace place;
  if (context.program.empty()) {
    auto program = find_program(context.named_helper);
    if (!program) return std::unexpected(std::move(program).error());
    context.program = *std::move(program);
  }
  place.program = context.program;
  if (!context.sim.empty()) place.options = {"--sim", context.sim};
  if (!context.replay.empty()) place.options = {"--replay", context.replay};
  if (!context.ledger.empty()) place.variables = {"BERTH_LEDGER=" + context.ledger};
  return place;
}

std::optional<HelperClient> take_idle_helper(berth_context& context) {
  std::optional<HelperClient> idle;
  if (*context.helper && (*context.helper)->is_ours()) idle.emplace(std::move(**context.helper));
  context.helper->reset();
  return idle;
}

Outcome failure_in(const Message& message) {
  const auto error = message.json.find("error");
  if (error == message.json.end() || !error->is_object()) return std::nullopt;
  const std::string code = error->value("code", "");
  for (const ErrorCode one :
       {ErrorCode::not_found, ErrorCode::unsupported, ErrorCode::no_permission, ErrorCode::busy,
        ErrorCode::invalid, ErrorCode::timeout}) {
    if (code == name_of(one)) return Failure(Error(one, Sentence(error->value("message", ""))));
  }
  return Failure(Error(ErrorCode::io, Sentence(error->value("message", ""))));
}

bool is_note(const Message& message, const std::function<void(const std::string&)>& note) {
  const auto text = message.json.find("note");
  if (text == message.json.end()) return false;
  if (note && text->is_string()) note(text->get<std::string>());
  return true;
}

namespace {
bool is_asking(const berth_context& context) {
  return context.question && context.question->is_ours();
}
}  // namespace

Result<void> begin(berth_context& context, berth_context::Asked asked, const Json& question) {
  if (is_asking(context)) {
    return fail(ErrorCode::busy,
                "asking the helper: a look or a choice in steps is under way already; advance it "
                "to its end first");
  }
  context.question.reset();
  auto place = helper_place(context);
  if (!place) return std::unexpected(std::move(place).error());
  auto begun = Question::ask(take_idle_helper(context), *std::move(place), question,
                             Question::Answered::soon);
  if (!begun) return std::unexpected(std::move(begun).error());
  context.question.emplace(*std::move(begun));
  context.asked = asked;
  return {};
}

Result<std::optional<Message>> advance(berth_context& context, berth_context::Asked asked) {
  if (!is_asking(context) || context.asked != asked) {
    return fail(ErrorCode::invalid, "no such question is under way: begin it, then advance it");
  }
  while (true) {
    auto message = context.question->receive();
    if (!message) {
      context.question.reset();
      return message;
    }
    if (!*message) return message;
    if (is_note(**message, context.note)) continue;
    context.helper->emplace(std::move(*context.question).take_helper());
    context.question.reset();
    return message;
  }
}

Result<Message> answer_to(berth_context& context, berth_context::Asked asked,
                          const Json& question) {
  if (auto begun = begin(context, asked, question); !begun) {
    return std::unexpected(std::move(begun).error());
  }
  // Whatever ends it early, no answer is left to be taken for another's.
  const struct Abandoned {
    berth_context& context;
    ~Abandoned() { context.question.reset(); }
  } in_any_case{context};
  while (true) {
    auto message = advance(context, asked);
    if (!message) return std::unexpected(std::move(message).error());
    if (*message) return *std::move(*message);
    context.question->wait();
  }
}

void tell_poll(const berth_context& context, int* fd, int* due_ms) {
  constexpr int poll_again_ms = 1000;
  if (fd != nullptr && context.question) *fd = context.question->descriptor();
  *due_ms = poll_again_ms;
}

namespace {

Json question_of_look(std::uint32_t depth) {
  Json question = {{"ask", "look"}, {"depth", depth}, {"variables", own_variables()}};
  if (depth == BERTH_STATE) question["fields"] = fields_of_device;
  return question;
}

Outcome check_depth(std::uint32_t depth) {
  if (depth <= BERTH_LISTS) return std::nullopt;
  return Failure(BERTH_E_INVALID, "there is no such depth of a look");
}

Outcome look_now(berth_context& context, std::uint32_t depth, berth_look** look) {
  if (auto wrong = check_depth(depth)) return wrong;
  const bool may_serve = (context.sources & BERTH_FROM_SERVE) != 0 && depth <= BERTH_EVERYTHING;
  if (may_serve && context.replay.empty()) {
    if (!context.serve) context.serve.emplace(context.sim);
    if (auto served = context.serve->look(context.max_age_ms)) {
      // An older berth's server does not know what this process sees.
      if (const auto& visible = context.serve->visible()) {
        *look = new berth_look{.seen = std::move(served), .visible = *visible, .host = ::getpid()};
        return std::nullopt;
      }
    }
  }
  if ((context.sources & BERTH_FROM_HELPER) == 0) {
    return Failure(BERTH_E_NOT_FOUND,
                   "looking at the devices: no `berth serve` of root's or of this user's has a "
                   "fresh look, and the helper was not to be asked");
  }
  auto message = answer_to(context, berth_context::Asked::look, question_of_look(depth));
  if (!message) return Failure(message.error());
  if (auto failed = failure_in(*message)) return failed;
  *look = new berth_look(look_in(*message));
  return std::nullopt;
}

Outcome begin_look(berth_context& context, std::uint32_t depth, int* fd, int* due_ms) {
  if (auto wrong = check_depth(depth)) return wrong;
  const auto begun = begin(context, berth_context::Asked::look, question_of_look(depth));
  if (!begun) return Failure(begun.error());
  tell_poll(context, fd, due_ms);
  return std::nullopt;
}

Outcome advance_look(berth_context& context, berth_look** look, int* due_ms) {
  auto message = advance(context, berth_context::Asked::look);
  if (!message) return Failure(message.error());
  tell_poll(context, nullptr, due_ms);
  if (!*message) return std::nullopt;
  if (auto failed = failure_in(**message)) return failed;
  *look = new berth_look(look_in(**message));
  return std::nullopt;
}

Outcome open(const berth_options* options, berth_context** context) {
  berth_options known{};
  if (!read_struct(options, known)) {
    return Failure(BERTH_E_INVALID,
                   "opening: the options' struct_size is not set, or they ask for what this older "
                   "library does not know");
  }
  auto made = std::make_unique<berth_context>();
  made->sim = known.sim != nullptr ? text_of(known.sim) : variable("BERTH_SIM");
  made->replay = text_of(known.replay);
  if (!made->replay.empty() && known.sim != nullptr) {
    return Failure(BERTH_E_INVALID, "opening: sim and replay name two machines: give one");
  }
  if (!made->replay.empty()) made->sim.clear();
  made->ledger = text_of(known.ledger);
  made->named_helper = text_of(known.helper);
  if (known.max_age_ms != 0) made->max_age_ms = known.max_age_ms;
  if (known.sources != 0) made->sources = known.sources;
  if (known.on_note != nullptr) {
    made->note = [tell = known.on_note, user = known.user](const std::string& text) {
      tell(user, text.c_str());
    };
  }
  *context = made.release();
  return std::nullopt;
}

}  // namespace

}  // namespace berth::lib

using berth::lib::at_border;
using berth::lib::no_context;
using berth::lib::Outcome;

extern "C" {

berth_code berth_open(const berth_options* options, berth_context** context, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr) return no_context();
    *context = nullptr;
    return berth::lib::open(options, context);
  });
}

void berth_close(berth_context* context) { berth::lib::take_down(context); }

const char* berth_program(berth_context* context) {
  if (context == nullptr) return nullptr;
  const auto code = at_border(nullptr, [&]() -> Outcome {
    const auto place = berth::lib::helper_place(*context);
    if (!place) return berth::lib::Failure(place.error());
    return std::nullopt;
  });
  return code == BERTH_OK ? context->program.c_str() : nullptr;
}

berth_code berth_serve_connect(berth_context* context, int* fd, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || fd == nullptr) return no_context();
    *fd = berth::lib::connect_to_serve(context->sim).release();
    if (*fd >= 0) return std::nullopt;
    return berth::lib::Failure(BERTH_E_NOT_FOUND,
                               "reaching berth serve: none of root's or of this user's answers; "
                               "start one with `berth serve`");
  });
}

berth_code berth_look_now(berth_context* context, uint32_t depth, berth_look** look,
                          berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || look == nullptr) return no_context();
    *look = nullptr;
    return berth::lib::look_now(*context, depth, look);
  });
}

berth_code berth_look_begin(berth_context* context, uint32_t depth, int* fd, int* due_ms,
                            berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || fd == nullptr || due_ms == nullptr) return no_context();
    return berth::lib::begin_look(*context, depth, fd, due_ms);
  });
}

berth_code berth_look_advance(berth_context* context, berth_look** look, int* due_ms,
                              berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (context == nullptr || look == nullptr || due_ms == nullptr) return no_context();
    *look = nullptr;
    return berth::lib::advance_look(*context, look, due_ms);
  });
}
}
