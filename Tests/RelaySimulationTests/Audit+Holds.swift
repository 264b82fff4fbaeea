// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

@testable import RelayHTTP

extension Simulation {
  /// Checks that held jobs are still silenced or wait, and that merged jobs have an open digest head.
  func lookAtHolds(_ jobs: [JobRow]) throws {
    let open = Set(jobs.lazy.filter { !$0.isFinished }.map(\.id))
    for job in jobs where !job.isFinished {
      let what = "\(job.place) for \(job.target)"
      switch job.state {
      case .held:
        guard clock.now <= job.due + Self.delay else {
          throw Violation(.reached, "\(what) is held until \(job.due), but the time is \(clock.now)")
        }
        let expectedDecision = model.expectedDecision(
          on: job.place, to: job.target, isAnyway: job.isAnyway, at: clock.now)
        guard try expectedDecision == .hold || isWaiting(job, expectedDecision) else {
          throw Violation(.reached, "\(what) is held, but the model decides \(expectedDecision as Any)")
        }
      case .merged:
        guard job.mergedInto.map(open.contains) == true else {
          throw Violation(.reached, "\(what) is merged into \(job.mergedInto ?? "nothing"), which is not open")
        }
      default: break
      }
    }
  }

  /// The hub decides again some milliseconds after the end of a wait that was not over yet.
  private static let delay = Duration.milliseconds(20)

  /// True if no cause holds the push any more, or the device allows no alerts, but the recipient may have returned and
  /// may still receive the message. The relay keeps the end of a wait that has begun, even if the recipient leaves
  /// again before it.
  private func isWaiting(_ job: JobRow, _ expectedDecision: ExpectedDecision?) throws -> Bool {
    switch expectedDecision {
    case .push?, .none(.notAllowed)?: break  // the rules after the waits
    default: return false
    }
    guard let message = model.message(at: job.place), let json = job.explanation else { return false }
    let explanation = try JSONDecoder().decode(Explanation.self, from: Data(json.utf8))
    let released = explanation.facts.released
    var ends = [before.attendance, model.attendance].map {
      $0.endOfWait(for: job.place, of: message.time, to: job.target.user, released: released)
    }
    let bound = max(message.time, released ?? message.time) + Attendance.maxWait
    if case .wait(let end) = explanation.decision.outcome, end <= bound { ends.append(end) }
    guard ends.contains(where: { $0.map { clock.now <= $0 + Self.delay } ?? false }) else { return false }
    audit.tally.count(.heldWaits)
    return true
  }

  // MARK: Explanations

  /// Checks that the stored facts of a job are true, and that they lead to the stored decision.
  func lookAtExplanation(of job: JobRow) throws {
    guard let json = job.explanation else { return }
    let explanation = try JSONDecoder().decode(Explanation.self, from: Data(json.utf8))
    let (facts, what) = (explanation.facts, "\(job.place) for \(job.target)")
    let again = decide(facts, policy: fault?.policy ?? .init())
    guard again == explanation.decision else {
      throw Violation(.repeated, "\(what): the decision is \(again), but was \(explanation.decision)")
    }
    for reason in again.reasons { audit.tally.count(reason.code) }
    let (before, after) = facts.now < model.attendance.start ? former : (before, model)
    let (user, device) = (job.target.user, job.target.device)
    let people = [before, after].map { $0.people[user] ?? PersonModel() }
    func check<Value: Equatable>(_ claimed: Value, _ name: String, _ truth: (PersonModel) -> Value) throws {
      let truths = people.map(truth)
      guard truths.contains(claimed) else {
        throw Violation(.focused, "\(what): \(name) is \(claimed) at \(facts.now), not \(truths)")
      }
    }
    let now = facts.now
    let isFocused = facts.device?.focusedUntil.map { now < $0 } ?? false
    try check(isFocused, "isFocused") { $0.focus[device]?.state(at: now) == true }
    let filter = facts.device?.filter.flatMap { now < $0.until ? $0.allow : nil }
    try check(filter, "the filter") { $0.allowed(by: device, at: now) }
    let hours = facts.device?.quiet.flatMap { now < $0.until ? $0.mode : nil }
    try check(hours, "quiet hours") { $0.areHoursQuiet(at: now) ? $0.preferences.quietHours?.mode : nil }
    try check(facts.recipient.onFocus, "onFocus") { $0.preferences.onFocus }
    let sender = facts.message.sender
    try check(facts.recipient.hasBlockedSender, "the block") { $0.blocked.contains(sender) }
  }

  // MARK: Pushes

  /// Checks that a device gets all pushes of a message under one collapse id, and that no other message has this id.
  func lookAtCollapseID(_ handed: RecordingGateway.Handed, _ job: JobRow, _ what: String) throws {
    let (place, target, collapseID) = (job.place, job.target, handed.push.headers.collapseID)
    let merged = audit.jobs.values.filter { $0.mergedInto == job.id && $0.state == .merged }
    if let known = audit.sentCollapseIDs[target]?[place] {
      guard known == collapseID else { throw Violation(.collapsed, "\(what) as \(collapseID), but before as \(known)") }
    } else {
      let known = audit.collapseIDs[place, default: [:]].updateValue(collapseID, forKey: target.user)
      if let known, known != collapseID {
        throw Violation(.collapsed, "\(what) as \(collapseID), but before as \(known)")
      }
      if let known = audit.places.updateValue(place, forKey: collapseID), known != place {
        throw Violation(.collapsed, "\(what) as \(collapseID), like \(known)")
      }
    }
    for other in [job] + merged where handed.isPerhapsShown {
      let known = audit.sentCollapseIDs[target, default: [:]].updateValue(collapseID, forKey: other.place)
      guard known == nil || known == collapseID else {
        throw Violation(.collapsed, "\(other.place), in \(what) as \(collapseID), was before as \(known ?? "")")
      }
    }
    if !merged.isEmpty { audit.tally.count(.digest) }
    let debt = Model.Debt(place: place, target: target)
    audit.pushed[debt, default: []].insert(handed.push.id)
    let count = audit.pushed[debt]?.count ?? 0
    guard count <= (model.isNotified(place, target.user) ? 2 : 1) else {
      throw Violation(.needed, "\(what) \(count) times")
    }
  }

  /// Checks that a push shows the message's present text, and has at most its level.
  func lookAtPayload(_ push: Push, _ job: JobRow, _ before: Model, _ after: Model, _ what: String) throws {
    let payload = try parser.read(push.payload)
    guard push.headers.type != .voip else {
      guard model.pushOptions[job.place]?.isCall == true, try payload.string("call", maxLength: 64) == push.id else {
        throw Violation(.needed, "\(what) as a call")
      }
      return
    }
    guard let aps = try payload.object("aps"),
      let communication = try payload.object("communication") ?? payload.object("push")
    else {
      throw Violation(.needed, "\(what) without aps")
    }
    let isAnyway = try communication.bool("notifyAnyway") == true
    guard !isAnyway || after.isNotified(job.place, job.target.user) else {
      throw Violation(.needed, "\(what) with notifyAnyway, without a request")
    }
    if isAnyway { audit.tally.count(.pushedAnyway) }
    guard !payload.has("digest") else { return }
    let claimed = try aps.string("interruption-level", maxLength: 20)
    let options = model.pushOptions[job.place] ?? PushOptions()
    let levels = [before, after].compactMap { model -> String? in
      guard let device = model.devices[job.target] else { return nil }
      let level = min(options.level, device.allowsTimeSensitive || options.level == .critical ? .critical : .active)
      return level == .timeSensitive ? "time-sensitive" : level.rawValue
    }
    guard let claimed, levels.contains(claimed) || claimed == "passive" && !isAnyway else {
      throw Violation(.needed, "\(what) as \(claimed ?? "nothing"), not \(levels)")
    }
    let text = try aps.object("alert")?.string("body", maxLength: 1_000)
    let bodies = [before, after, model].flatMap { $0.log(of: job.place.room).bodies(job.place.seq) }
    guard let text, Int(text).map(bodies.contains) == true else {
      throw Violation(.inTime, "\(what) with the text \(text ?? "nothing"), but the message is \(bodies)")
    }
  }
}
