#pragma once
// Question: something that a helper is asked, answered in steps. It takes an idle helper, or starts
// one. That is in steps as well: no call of it waits.

#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "lib/helper_client.h"

namespace berth::lib {

class Question {
 public:
  /// `soon`: a look's time after the helper has greeted. Else it is a wait in the queue. That has
  /// no end, and another helper would not know of it.
  enum class Answered { soon, in_the_queue };
  /// `idle`: a helper that is asked nothing now; nothing: one is started.
  [[nodiscard]] static Result<Question> ask(std::optional<HelperClient> idle, HelperPlace place,
                                            const Json& question, Answered answered);

  /// Readable when receive() has something to do: the same from begin to end.
  [[nodiscard]] int descriptor() const { return ready_.get(); }
  /// False in a process forked since: it is its parent's.
  [[nodiscard]] bool is_ours() const { return helper_ && helper_->is_ours(); }
  /// Something that the helper says; nothing: not yet. A helper that has ended meanwhile is asked
  /// again once: another one. After an error it is over.
  [[nodiscard]] Result<std::optional<Message>> receive();
  /// Waits until there is something to receive.
  void wait() const;
  /// No answer is wanted any more: receive() gives none, and fails once the helper has gone, or
  /// after a second.
  void leave();
  /// The helper that answered, and may be asked again.
  [[nodiscard]] HelperClient take_helper() &&;

 private:
  Question(HelperPlace place, Json question, Answered answered, Fd ready, Fd timer);
  [[nodiscard]] Result<void> begin(std::optional<HelperClient> helper);
  void end();
  /// Until when something is to be heard.
  void set_timer();
  void set_timer(Duration patience);
  [[nodiscard]] Error nothing_heard() const;

  HelperPlace place_;
  Json question_;
  Answered answered_;
  std::optional<HelperClient> helper_;
  Fd ready_;  // an epoll of the helper's socket and the timer
  Fd timer_;
  bool was_asked_again_ = false;
  bool is_left_ = false;
};

}  // namespace berth::lib
