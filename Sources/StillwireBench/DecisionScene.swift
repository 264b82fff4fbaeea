// SPDX-License-Identifier: Apache-2.0
import RelayJSON

/// The rooms and users of a run of the load `decisions`, and its requests.
struct DecisionScene: Sendable {
  private struct Question: Sendable {
    let about: DecisionCase
    let request: RelayRequests.Request
  }

  /// The requests that make the rooms and users. Each list needs the results of the earlier ones.
  private(set) var preparation: [[RelayRequests.Request]] = [[], [], []]
  private var questions: [Question] = []
  private let devices: Set<String>

  /// - Parameters:
  ///   - run: The name of the run. It is part of the names of rooms, users and tokens.
  ///   - prefix: The prefix of the rooms' names.
  ///   - devices: The number of devices of each recipient.
  init(run: String, rooms: Int, prefix: String, recipients: Int, devices: Int) {
    let sender = "bench-\(run)-sender"
    let rooms = (0..<rooms).map { "\(prefix)-\(run)-\($0)" }
    let cases = DecisionCase.allCases
    self.devices = Set((0..<devices).map { "device-\($0)" })
    preparation[0] = rooms.map { room in
      .init(
        "POST", "/v1/rooms",
        JSONWriter.object {
          $0["room"] = room
          $0["owner"] = sender
        })
    }
    for index in 0..<recipients {
      let user = "bench-\(run)-\(index)"
      add(user, cases[index % cases.count], in: rooms[index / cases.count % rooms.count], sender: sender)
    }
  }

  private mutating func add(_ user: String, _ about: DecisionCase, in room: String, sender: String) {
    preparation[1].append(.init("PUT", "/v1/rooms/\(room)/members/\(user)"))
    if let preferences = about.preferences(in: room) {
      preparation[1].append(.init("PUT", "/v1/users/\(user)/preferences", preferences))
    }
    if about.blocksSender { preparation[1].append(.init("PUT", "/v1/users/\(user)/blocks/\(sender)")) }
    for device in devices {
      preparation[1].append(
        .init(
          "PUT", "/v1/users/\(user)/devices/\(device)",
          JSONWriter.object {
            $0["platform"] = "simulator"
            $0["token"] = "\(user)-\(device)"
          }))
      guard about.isFocused else { continue }
      preparation[2].append(
        .init(
          "PUT", "/v1/users/\(user)/focus",
          JSONWriter.object {
            $0.bool("isFocused", true)
            $0["device"] = device
          }))
    }
    questions.append(
      Question(
        about: about,
        request: .init("POST", "/v1/decisions", about.request(room: room, sender: sender, user: user))))
  }

  /// Requests the next decision, checks the answer and counts it.
  func ask(over requests: RelayRequests, _ tally: DecisionTally) async {
    let question = questions[tally.nextRequest() % questions.count]
    let start = ContinuousClock.now
    do {
      let answer = try await requests.send(question.request)
      let latency = ContinuousClock.now - start
      if answer.status != 200 {
        tally.count(.refused, RelayRequests.refusal(answer.status, answer.body))
      } else if let difference = question.about.difference(in: answer.body, devices: devices) {
        tally.count(.wrong, difference)
      } else {
        return tally.count(latency)
      }
    } catch {
      tally.count(.unanswered, "\(error)")
    }
    // Pause after a fault, so that this is not a busy loop.
    try? await Task.sleep(for: .milliseconds(100))
  }
}
