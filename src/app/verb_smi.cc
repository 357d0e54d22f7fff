// `berth smi …`, and berth called by the name nvidia-smi.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "app/smi_session.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

namespace {

/// Where -f sends the answers: a file, written from its start.
class Answers {
 public:
  explicit Answers(const std::optional<std::string>& path) {
    if (path) file_ = std::fopen(path->c_str(), "we");
    to_file_ = path.has_value();
    path_ = path.value_or("");
  }
  ~Answers() {
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  [[nodiscard]] bool usable() const { return !to_file_ || file_ != nullptr; }
  /// False: it did not arrive (a full disk, a closed pipe), and that was said.
  [[nodiscard]] bool write(std::string_view text) {
    if (!to_file_) {
      print(text);
      return finish_output();
    }
    if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) {
      return true;
    }
    complain(trf("{} could not be written: {}", path_, std::strerror(errno)));
    return false;
  }

 private:
  std::FILE* file_ = nullptr;
  bool to_file_ = false;
  std::string path_;
};

/// The exit codes that end a loop in its first round, as they do without a loop. In a later round
/// the loop goes on: the driver may come back (it is loaded anew).
bool shows_nothing(int code) {
  constexpr std::array codes = {2, 6, 9, 12, 18};
  return std::ranges::find(codes, code) != codes.end();
}

class SmiVerb final : public Verb {
 public:
  void declare(Options&) override {}
  [[nodiscard]] bool takes_words_as_they_are() const override { return true; }

  int run(Context& context, const std::vector<std::string>& words) override {
    const smi::SmiRequest request = smi::parse(words);
    Answers answers(request.file);
    if (!answers.usable()) {
      print("Failed to open file " + printable(*request.file) + " for writing\n");
      return exit_code::usage;
    }
    ContextSource source(context, request.every.has_value());
    int code = exit_code::ok;
    bool arrived = true;
    SaidProblems said;
    const auto once = [&](std::uint64_t tick) {
      const smi::Output output = smi::answer(request, source, clockface_of(context), tick);
      arrived = answers.write(smi::printable_answer(output.text, request));
      for (const Problem& problem : output.silent) {
        if (!said.is_new(problem)) continue;
        complain(printable(problem.message.shown()));
        if (!problem.remedy.empty()) complain(printable(problem.remedy.shown()));
      }
      code = output.code;
      return arrived && !(tick == 0 && shows_nothing(code));
    };
    if (!request.every || request.what == smi::SmiRequest::What::text) {
      once(0);
      return arrived ? code : exit_code::failed;
    }
    const int ended = again_and_again(context, *request.every, request.times, once);
    if (!arrived) return exit_code::failed;
    return ended != exit_code::ok ? ended : code;
  }
};

}  // namespace

std::unique_ptr<Verb> make_smi() { return std::make_unique<SmiVerb>(); }

}  // namespace berth
