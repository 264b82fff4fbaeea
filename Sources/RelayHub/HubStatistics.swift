// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

// The gauges and counters of the hub, for the metrics. `RelayHTTP` writes them as text.

/// The current numbers of a hub's objects, and its counters since its creation.
public struct HubStatistics: Sendable {
  /// The current numbers of objects, by metric name.
  public let gauges: [(name: String, help: String, value: Int)]

  public let connections, refusedFull, refusedAddress, sessions, framesReceived, bytesReceived, framesSent,
    bytesSent: UInt64
  public let messagesStored, messagesLive, signals, deliveries, wentOnline, wentOffline, announcements: UInt64
  /// The close codes of ended sessions. `code` is `nil` for all codes that have no counter of their own.
  public let closes: [(code: Int?, count: UInt64)]
  /// The close codes that have a counter.
  public static let countedCloses = array(relay_close_codes, of: UInt16.self).map(Int.init)
  /// The names of the errors that have a counter.
  public static let countedErrors = array(relay_error_names, of: UnsafePointer<CChar>?.self).map {
    $0.map { String(cString: $0) } ?? ""
  }
  /// The errors that the hub itself returned, by name.
  public let errors: [String: UInt64]
  /// HTTP answers, by the first digit of the status.
  public let responses: [(digit: Int, count: UInt64)]
  /// For each message, the seconds from its publication to the end of the writes to all sessions in that iteration of
  /// the loop.
  public let fanOut: Histogram
}

extension Hub {
  public var statistics: HubStatistics {
    HubStatistics(relay_hub_stats(hub), relay_hub_counts(hub), outboxBytes: relay_hub_outbox_bytes(hub))
  }
}

extension HubStatistics {
  fileprivate init(_ stats: relay_stats, _ counts: relay_counts, outboxBytes: Int) {
    gauges = [
      ("connections", "Connections, before and after a handshake.", counts.connections),
      ("sessions", "Connections upgraded to WebSocket.", counts.sessions),
      ("users", "Users in memory.", counts.users),
      ("rooms", "Rooms in memory.", counts.rooms),
      ("members", "Members of the rooms in memory, including members who are away.", counts.members),
      ("seats", "Sessions in rooms: a session counts once for each room that it has joined.", counts.seats),
      ("frames", "Frames in memory. All recipients of a frame share it.", counts.frames),
      ("frame_bytes", "Bytes of the frames in memory.", counts.frame_bytes),
      ("outbox_bytes", "Bytes in the outgoing queues; a shared frame counts once for each session.", outboxBytes),
      ("timers", "Timers of the hub that are set.", counts.timers),
      ("exchanges", "HTTP requests in progress, including streams.", counts.exchanges),
    ]
    connections = stats.connections
    refusedFull = stats.refused_full
    refusedAddress = stats.refused_address
    sessions = stats.sessions
    framesReceived = stats.frames_received
    bytesReceived = stats.bytes_received
    framesSent = stats.frames_sent
    bytesSent = stats.bytes_sent
    messagesStored = stats.messages_stored
    messagesLive = stats.messages_live
    signals = stats.signals
    deliveries = stats.deliveries
    wentOnline = stats.went_online
    wentOffline = stats.went_offline
    announcements = stats.announcements
    closes = Array(zip(Self.array(relay_close_codes, of: UInt16.self), Self.array(stats.closes, of: UInt64.self)))
      .map { code, count in (code == 0 ? nil : Int(code), count) }
    errors = Dictionary(
      uniqueKeysWithValues: zip(Self.countedErrors, Self.array(stats.errors, of: UInt64.self)))
    responses = Self.array(stats.responses, of: UInt64.self).enumerated().dropFirst().map { ($0.offset, $0.element) }
    fanOut = Histogram(
      bounds: Self.array(relay_bucket_bounds, of: UInt32.self).map { Double($0) / 1_000_000 },
      counts: Self.array(stats.fan_out.counts, of: UInt64.self), sum: Double(stats.fan_out.microseconds) / 1_000_000)
  }

  /// The elements of a C array, which Swift sees as a tuple.
  private static func array<Tuple, Element>(_ tuple: Tuple, of type: Element.Type) -> [Element] {
    withUnsafeBytes(of: tuple) { Array($0.bindMemory(to: type)) }
  }
}
