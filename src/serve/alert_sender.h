#pragma once
// AlertSender: takes one message to one receiver, by HTTP or by a command, and says how that went.
// Lives in the loop's thread and never makes it wait.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/alert_message.h"
#include "serve/alert_receiver.h"
#include "serve/http_client.h"
#include "serve/http_loop.h"

namespace berth::serve {

/// What a command is run with.
struct CommandPlace {
  std::vector<std::string> environment;  // NAME=value; BERTH_ALERT_… come on top
  std::string search_path;
};

class AlertSender {
 public:
  using Done = std::function<void(Result<void>)>;

  /// Loop and clock outlive it.
  AlertSender(Loop& loop, Clock& clock, CommandPlace place);
  /// What is under way ends without a word; a command goes on to its own end.
  ~AlertSender();
  AlertSender(const AlertSender&) = delete;
  AlertSender& operator=(const AlertSender&) = delete;

  /// `done` is called once, later, in the loop's thread. Errors never hold the URL.
  void send(const AlertReceiver& receiver, const AlertMessage& message, Done done);
  void forget_certificates() { client_.forget_certificates(); }

 private:
  void post(const AlertReceiver& receiver, std::string body, Done done);

  Loop& loop_;
  Clock& clock_;
  CommandPlace place_;
  HttpClient client_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::serve
