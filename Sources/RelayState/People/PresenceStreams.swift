// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
package import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayRequests

/// The streams of presence and Focus changes for backends, as server-sent events.
///
/// One log has the changes. A stream has only a position in the log, and reads on when its client has capacity. So a
/// slow client needs no memory, and gets the newest state of each user once. The state is private. The relay creates
/// one object, and the methods run on the hub's thread.
package final class PresenceStreams {
  private struct Stream {
    /// All changes up to this number are sent.
    var number: Int64
    /// The number of the last id that was sent.
    var sent: Int64
    let filter: PresenceFilter
  }

  private var log: PresenceLog
  private var streams: [ExchangeHandle: Stream] = [:]
  /// True while the hub reports changes.
  private var isFollowing = false
  /// True while ``write(on:)`` runs.
  private var isWriting = false
  /// Ends the log some time after the last stream.
  private var end: Task<Void, Never>?

  /// The reason of the event `end`.
  package enum EndReason: String, CaseIterable, Sendable {
    case tooSlow = "too_slow"
    case shutdown
    /// The API key was revoked or has other rights.
    case keyChanged = "key_changed"
  }

  /// The maximum number of users in the log.
  package static let maxUsers = 32_768
  /// The time for which the log continues without a stream.
  static let resumeTime = Duration.seconds(600)
  /// A stream with more unsent bytes waits.
  static let maxUnsent = 65_536
  /// The maximum number of changes that one turn looks at for a stream, and the size at which a page ends.
  private static let changesPerPage = 512, bytesPerPage = 16_384
  /// The time after which the writer yields to others on the hub's thread.
  private static let slice = Duration.milliseconds(2)
  /// The pause before the writer looks again at streams whose clients do not read.
  private static let pause = Duration.milliseconds(50)
  /// The number of users that one turn looks at after the end of the log.
  private static let usersPerTurn = 4_096

  package convenience init() { self.init(maxUsers: Self.maxUsers) }

  package init(maxUsers: Int) {
    log = PresenceLog(
      epoch: UUID().uuidString.replacing("-", with: "").prefix(16).lowercased(), capacity: maxUsers)
  }

  /// The number of open streams.
  package var count: Int { streams.count }

  // MARK: Streams

  /// Adds a stream whose head the hub has sent. Sends `resumed`, or `reset` if the client must read the presence of its
  /// users again. The client receives every change after that.
  package func add(
    _ exchange: ExchangeHandle, _ filter: PresenceFilter, after position: String?, on core: isolated Core
  ) {
    follow(on: core)
    let first: [UInt8]
    let number: Int64
    switch log.start(at: position) {
    case .success(let known):
      number = known
      first = event("resumed", known) { _ in }
    case .failure(let reset):
      number = log.newest
      first = event("reset", number) { $0["reason"] = reset.rawValue }
    }
    streams[exchange] = Stream(number: number, sent: number, filter: filter)
    guard core.hub.write(first, to: exchange) else {
      forget(exchange, on: core)
      return
    }
    wake(on: core)
  }

  /// Forgets a stream that has ended.
  package func forget(_ exchange: ExchangeHandle, on core: isolated Core) {
    guard streams.removeValue(forKey: exchange) != nil, streams.isEmpty else { return }
    end?.cancel()
    end = Task {
      try? await Task.sleep(for: Self.resumeTime)
      guard !Task.isCancelled, streams.isEmpty else { return }
      await unfollow(on: core)
    }
  }

  /// Ends a stream, because its API key was revoked or has other rights. Does nothing for another exchange.
  package func end(_ exchange: ExchangeHandle, on core: isolated Core) {
    guard let stream = streams[exchange] else { return }
    _ = core.hub.write(ended(.keyChanged, stream), to: exchange)
    core.hub.finishStream(exchange)
    forget(exchange, on: core)
  }

  /// Ends all streams, because the relay stops.
  package func endAll(on core: isolated Core) {
    for (exchange, stream) in streams {
      _ = core.hub.write(ended(.shutdown, stream), to: exchange)
      core.hub.endStream(exchange)
    }
    streams = [:]
    end?.cancel()
  }

  /// Forgets the streams, because the hub's loop ends.
  package func stop() {
    streams = [:]
    end?.cancel()
  }

  private func follow(on core: isolated Core) {
    end?.cancel()
    end = nil
    guard !isFollowing else { return }
    isFollowing = true
    log.clear()
    core.hub.followPresence(true)
  }

  private func unfollow(on core: isolated Core) async {
    isFollowing = false
    log.clear()
    core.hub.followPresence(false)
    var next: Int? = 0
    while let from = next, !isFollowing {
      next = core.hub.releaseUsers(from: from, count: Self.usersPerTurn)
      await Task.yield()
    }
  }

  // MARK: Changes

  /// A user has changed.
  package func changed(_ user: UserID, _ entry: [UInt8], on core: isolated Core) {
    guard isFollowing else { return }
    log.note(entry, of: user)
    wake(on: core)
  }

  private func wake(on core: isolated Core) {
    guard !isWriting, !streams.isEmpty else { return }
    isWriting = true
    Task { await write(on: core) }
  }

  /// Writes until all streams have all changes. Yields to others between slices.
  private func write(on core: isolated Core) async {
    var sliceEnd = ContinuousClock.now + Self.slice
    while true {
      var canContinue = false
      var isBlocked = false
      for exchange in Array(streams.keys) {
        switch advance(exchange, on: core) {
        case .done: break
        case .continues: canContinue = true
        case .blocked: isBlocked = true
        }
        guard ContinuousClock.now >= sliceEnd else { continue }
        await Task.yield()
        sliceEnd = .now + Self.slice
      }
      if canContinue { continue }
      guard isBlocked || streams.values.contains(where: { $0.number < log.newest }) else { break }
      if isBlocked { try? await Task.sleep(for: Self.pause) }
      sliceEnd = .now + Self.slice
    }
    isWriting = false
  }

  private enum Progress {
    /// The stream has all changes, or has ended.
    case done
    case continues
    /// The client must read first.
    case blocked
  }

  /// Writes one page of changes to a stream.
  private func advance(_ exchange: ExchangeHandle, on core: isolated Core) -> Progress {
    guard var stream = streams[exchange], stream.number < log.newest else { return .done }
    guard stream.number >= log.horizon else {
      core.diagnostics.log.notice("a presence stream was too slow, and ends")
      _ = core.hub.write(ended(.tooSlow, stream), to: exchange)
      core.hub.finishStream(exchange)
      forget(exchange, on: core)
      return .done
    }
    guard core.hub.unsent(of: exchange) <= Self.maxUnsent else { return .blocked }
    let page = log.page(
      after: stream.number, maxChanges: Self.changesPerPage, maxBytes: Self.bytesPerPage, where: stream.filter.includes)
    var text: [UInt8] = []
    for (number, entry) in page.entries { text += event("presence", number, entry) }
    stream.number = page.end
    stream.sent = page.entries.last?.number ?? stream.sent
    if stream.number - stream.sent >= Self.changesPerPage {
      // An id without an event: the client continues here, although the changes were about other users.
      text += Array("id: \(log.position(stream.number))\n\n".utf8)
      stream.sent = stream.number
    }
    streams[exchange] = stream
    if !text.isEmpty, !core.hub.write(text, to: exchange) {
      forget(exchange, on: core)
      return .done
    }
    return stream.number < log.newest ? .continues : .done
  }

  // MARK: Events

  private func event(_ name: String, _ number: Int64, _ json: [UInt8]) -> [UInt8] {
    Array("id: \(log.position(number))\nevent: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
  }

  private func event(_ name: String, _ number: Int64, _ members: (inout JSONWriter.Object) -> Void) -> [UInt8] {
    event(name, number, JSONWriter.object(members))
  }

  private func ended(_ reason: EndReason, _ stream: Stream) -> [UInt8] {
    event("end", stream.number) { $0["reason"] = reason.rawValue }
  }
}
