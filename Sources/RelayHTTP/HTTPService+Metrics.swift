// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayCommands
import RelayFollowers
import RelayGateways
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayPush
import RelayRequests
package import RelayState
import RelayStore

/// `/metrics`. No label contains a user, a room or a message, so the number of series is fixed.
extension HTTPService {
  package func metrics(_ request: HTTPRequest, on core: isolated Core) async throws -> HTTPResponse {
    try await checkMayReadOperations(request, on: core)
    let (settings, gateways) = (core.settings, core.relay.gateways)
    let process = await ProcessFacts.current()
    let pushes = await core.relay.worker.tally
    let clock = core.store.readClock()
    // If the store fails, the other metrics are still useful, so the error is ignored.
    let jobs = try? await core.store.read { try $0.queue.unfinishedJobs(at: clock.moment) }
    var text = MetricsText()
    write(core.hub.statistics, errors: core.diagnostics.tally.errors, to: &text)
    write(core.store.statistics, to: &text)
    write(core.diagnostics.tally, to: &text)
    text.family(
      "stillwire_pushes_total", "Push jobs finished or requeued, by result.", .counter, by: "result",
      PushTally.PushResult.allCases.map { ($0.rawValue, pushes[$0]) })
    text.family(
      "stillwire_refused_tokens_total",
      "Device tokens that a gateway rejected, by result. kept: the app has reached the limit of forgotten tokens.",
      .counter, by: "result", [("forgotten", pushes.forgotten), ("kept", pushes.kept)])
    text.gauge(
      "stillwire_failing_push_services",
      "Push services that fail. The relay tries their pushes again.",
      core.relay.worker.serviceOutages.count)
    text.gauge(
      "stillwire_forgetting_paused_apps", "Apps for which forgetting rejected tokens is paused.",
      core.relay.worker.pausedForgetting.count)
    if let jobs {
      let states: [JobState] = [.waiting, .held, .merged, .ready, .sending, .retrying]
      text.family(
        "stillwire_push_jobs", "Push jobs that are not finished, by state.", .gauge, by: "state",
        states.map { ($0.rawValue, jobs.counts[$0] ?? 0) })
      text.gauge(
        "stillwire_push_job_oldest_age_seconds",
        "Age of the oldest push job that waits to be sent, without held and merged jobs. 0 without such a job.",
        seconds: jobs.oldestAge?.seconds ?? 0)
    }
    if let apple = gateways.apple, !settings.appleApps.isEmpty { write(apple.statistics, to: &text) }
    if let webPush = gateways.webPush, settings.webPushKey != nil {
      let statistics = webPush.statistics
      text.gauge(
        "stillwire_webpush_paused_services",
        "Push services of browsers that reject the relay's key. Their pushes wait.",
        statistics.paused.count)
      write(statistics.pushes, of: "webpush", "Push services of browsers", to: &text)
    }
    if let matrix = gateways.matrix, !settings.matrixApps.isEmpty {
      let statistics = matrix.statistics
      text.gauge(
        "stillwire_matrix_paused_apps", "Apps whose Matrix gateway rejects all pushes. Their pushes wait.",
        statistics.paused.count)
      write(statistics.pushes, of: "matrix", "Matrix gateways", to: &text)
    }
    text.family(
      "stillwire_clock_wait_seconds",
      "Seconds until deletion by age resumes; 0 if it does not wait. cause: step (the wall clock was set) or stop.",
      .gauge, by: "cause",
      AgingClock.Cause.allCases.map { ($0.rawValue, clock.cause == $0 ? Int(clock.remaining.seconds) : 0) })
    write(core.relay.backends, settings.apiKeys.names.sorted(), to: &text)
    write(core.relay.audit.counters, to: &text)
    text.gauge(
      "stillwire_erasures_failing", "Erasures of users whose last attempt has failed. The relay tries them again.",
      core.relay.erasures.failures.count)
    text.family(
      "stillwire_tzdata_info",
      "Always 1. The label has the version of the system's time zone rules. none: the relay uses the rules of Swift.",
      .gauge, by: "version", [(core.relay.zones.version ?? "none", 1)])
    cluster?.report.write(to: &text)
    process.write(to: &text)
    return .metrics(text)
  }

  private func write(_ hub: HubStatistics, errors: [ErrorCode: UInt64], to text: inout MetricsText) {
    for gauge in hub.gauges { text.gauge("stillwire_\(gauge.name)", gauge.help, gauge.value) }
    text.counter("stillwire_connections_accepted_total", "Connections accepted.", hub.connections)
    text.family(
      "stillwire_connections_refused_total", "Connections rejected, by the limit exceeded.", .counter,
      by: "limit", [("most", hub.refusedFull), ("perAddress", hub.refusedAddress)])
    text.counter("stillwire_sessions_accepted_total", "WebSocket handshakes granted.", hub.sessions)
    text.family(
      "stillwire_session_closes_total", "Sessions that ended, by close code. 1006: no close frame.", .counter,
      by: "code", hub.closes.map { ($0.code.map(String.init) ?? "other", $0.count) })
    text.counter("stillwire_frames_received_total", "Text frames received from clients.", hub.framesReceived)
    text.counter("stillwire_received_bytes_total", "Bytes of the text frames received from clients.", hub.bytesReceived)
    text.counter("stillwire_frames_sent_total", "Frames written completely, of all types.", hub.framesSent)
    text.counter("stillwire_sent_bytes_total", "Bytes written to sessions.", hub.bytesSent)
    text.family(
      "stillwire_messages_total", "Messages published. kept is true if the room stores them.", .counter, by: "kept",
      [("true", hub.messagesStored), ("false", hub.messagesLive)])
    text.counter("stillwire_signals_total", "Signals published.", hub.signals)
    text.counter(
      "stillwire_deliveries_total", "Messages and signals queued, counted once for each session.", hub.deliveries)
    text.histogram(
      "stillwire_fan_out_seconds", "Time from publishing a message to the last write of it.", hub.fanOut)
    text.family(
      "stillwire_presence_transitions_total", "Changes of users between online and offline.", .counter, by: "to",
      [("online", hub.wentOnline), ("offline", hub.wentOffline)])
    text.counter(
      "stillwire_presence_announcements_total", "Presence changes announced, counted once for all recipients.",
      hub.announcements)
    text.family(
      "stillwire_http_responses_total", "Answers to HTTP requests, including rejected handshakes.", .counter,
      by: "status", hub.responses.map { ("\($0.digit)xx", $0.count) })
    text.family(
      "stillwire_errors_total", "Errors sent over WebSocket and HTTP, by code.", .counter, by: "code",
      ErrorCode.allCases.map { ($0.rawValue, (hub.errors[$0.rawValue] ?? 0) + (errors[$0] ?? 0)) })
  }

  private func write(_ store: StoreStatistics, to text: inout MetricsText) {
    text.histogram("stillwire_store_commit_seconds", "Duration of a transaction, including failed ones.", store.commits)
    text.histogram("stillwire_store_group_size", "Pieces of work in a transaction.", store.groups)
    text.counter("stillwire_store_failures_total", "Transactions that failed as a whole.", store.failures)
    text.gauge("stillwire_store_available", "1 if the last transaction reached the disk.", store.isAvailable ? 1 : 0)
    text.gauge(
      "stillwire_store_damaged", "1 after SQLite has found a damage of the database. The relay then stores nothing.",
      store.isDamaged ? 1 : 0)
    text.gauge("stillwire_store_log_bytes", "Size of the write-ahead log of the database.", store.logSize)
    text.gauge(
      "stillwire_store_log_blocked_seconds",
      "Seconds for which a reader has blocked the relay from shortening the log, if it exceeds 64 MiB; otherwise 0.",
      seconds: store.logBlocked?.seconds ?? 0)
  }

  private func write(_ tally: Tally, to text: inout MetricsText) {
    text.histogram(
      "stillwire_acknowledgement_seconds", "Time from accepting a message to the reply that it is stored.",
      tally.acknowledgements)
    text.family(
      "stillwire_recoveries_total", "Joins, by the recovery of missed messages.", .counter, by: "result",
      Tally.Recovery.allCases.map { ($0.rawValue, tally.recoveries[$0] ?? 0) })
    text.family(
      "stillwire_decisions_total", "Decisions about a message for a device, by outcome. A wait is decided again.",
      .counter, by: "outcome", Tally.Outcome.allCases.map { ($0.rawValue, tally.decisions[$0] ?? 0) })
    text.family(
      "stillwire_invitations_total",
      "Invitations to rooms: those that users have made, and the ends by cause.",
      .counter, by: "outcome",
      [("made", tally.invitations)]
        + InvitationEnd.allCases.map { ($0.rawValue, tally.invitationEnds[$0] ?? 0) })
    text.family(
      "stillwire_focus_reports_total", "Focus reports stored. applied is true for those newer than the last one.",
      .counter, by: "applied",
      [true, false].map { ("\($0)", tally.focusReports[$0] ?? 0) })
  }

  /// The configuration contains the names, so the number of series is bounded.
  private func write(_ backends: Backends, _ names: [String], to text: inout MetricsText) {
    guard !names.isEmpty else { return }
    let counters = names.map { ($0, backends[$0]) }
    text.family(
      "stillwire_api_key_requests_total", "Requests of API keys, including refused ones, by the name of the key.",
      .counter, by: "key", counters.map { ($0, $1.requests) })
    text.family(
      "stillwire_api_key_out_of_scope_total", "Requests outside of the scope of an API key, by the name of the key.",
      .counter, by: "key", counters.map { ($0, $1.outside) })
    text.family(
      "stillwire_api_key_rate_limited_total", "Requests above the rate of an API key, by the name of the key.",
      .counter, by: "key", counters.map { ($0, $1.limited) })
  }

  private func write(_ audit: AuditLog.Counters, to text: inout MetricsText) {
    text.family(
      "stillwire_audit_entries_total",
      "Entries of the audit log, by outcome. skipped: too many failed requests. lost: the store rejected too many.",
      .counter, by: "outcome", [("stored", audit.stored), ("skipped", audit.skipped), ("lost", audit.lost)])
  }

  private func write(_ apple: AppleStatistics, to text: inout MetricsText) {
    text.gauge("stillwire_apple_connections", "Connections to Apple's service.", apple.connections)
    text.gauge("stillwire_apple_streams", "Pushes that Apple's service has not answered yet.", apple.streams)
    text.gauge(
      "stillwire_apple_token_age_seconds", "Age of the oldest provider token in use. 0 without a token.",
      seconds: apple.tokenAge?.seconds ?? 0)
    text.gauge(
      "stillwire_apple_paused_apps", "Apps whose pushes wait because Apple's service rejects them.", apple.paused.count)
    text.counter("stillwire_apple_accepted_total", "Pushes that Apple's service accepted.", apple.accepted)
    text.family(
      "stillwire_apple_refused_total", "Pushes that failed, by reason, including those that the relay retries.",
      .counter, by: "reason", GatewayReason.allCases.map { ($0.rawValue, apple.refused[$0] ?? 0) })
    text.histogram("stillwire_apple_answer_seconds", "Time from sending a push to Apple's answer.", apple.answers)
  }

  private func write(
    _ gateway: GatewayStatistics, of name: String, _ who: String, to text: inout MetricsText
  ) {
    text.counter("stillwire_\(name)_accepted_total", "\(who): pushes accepted.", gateway.accepted)
    text.family(
      "stillwire_\(name)_refused_total",
      "\(who): pushes that failed, by reason, including those that the relay retries.", .counter, by: "reason",
      GatewayReason.allCases.map { ($0.rawValue, gateway.refused[$0] ?? 0) })
    text.histogram("stillwire_\(name)_answer_seconds", "\(who): time from a push to the answer.", gateway.answers)
  }
}

extension ProcessFacts {
  func write(to text: inout MetricsText) {
    text.family(
      "stillwire_build_info", "Always 1. The label has the version of the relay.", .gauge, by: "version",
      [(stillwireVersion, 1)])
    text.gauge("process_start_time_seconds", "Start time of the process, since 1970.", seconds: ProcessFacts.start)
    text.counter("process_cpu_seconds_total", "Processor time, user and system.", seconds: processorTime)
    if let bytes = residentBytes { text.gauge("process_resident_memory_bytes", "Resident memory.", bytes) }
    if let count = openDescriptors { text.gauge("process_open_fds", "Open file descriptors.", count) }
    text.gauge("process_max_fds", "Maximum number of open file descriptors.", maxDescriptors)
  }
}
