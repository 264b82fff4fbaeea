// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Logging
import RelayCluster
import RelayHTTP
import RelayHub
public import RelayIdentity
import RelayProtocol
import RelayStore
import Synchronization

/// A node of a cluster: a standby until it leads, and then a ``Server``.
///
/// A node that leads no more replaces its process by a new run, which begins as a standby.
public final class ClusterServer: RunningServer {
  private let configuration: Mutex<ServerConfiguration>
  /// The number of changes of `configuration`.
  private let reloads = Atomic(0)
  private let server = Mutex<Server?>(nil)
  /// The listener before this node leads.
  private let standby = Mutex<(Standby, ClusterNodeRun)?>(nil)
  /// The process is not replaced after this request.
  private let endRequest: EndRequest
  /// The end of the leadership of this process, if it led until now.
  private let former: ProcessReplacement.Mark?
  private let log: Logger
  private let isReady: @Sendable (_ url: String) -> Void

  /// The time that a deposed leader has to close its sessions.
  private static let farewell = Duration.milliseconds(200)
  /// The time between two writes of the log's position to the file of a leader.
  private static let positionInterval = Duration.seconds(60)

  /// - Parameters:
  ///   - end: The request to end, which another part of the program makes.
  ///   - isReady: Called with the URL when this node leads and answers requests.
  public init(
    _ configuration: ServerConfiguration, end: EndRequest, log: Logger,
    isReady: @escaping @Sendable (_ url: String) -> Void = { _ in }
  ) async throws(StartupError) {
    endRequest = end
    former = ProcessReplacement.takeMark()
    // The name of a process that was replaced is `exe`.
    try? Data("stillwire".utf8).write(to: URL(fileURLWithPath: "/proc/self/comm"))
    // A wrong setting must be found now, and not at a takeover.
    try await Server.check(configuration)
    self.configuration = Mutex(configuration)
    self.log = log
    self.isReady = isReady
  }

  public func reload(_ configuration: ServerConfiguration) async throws(StartupError) {
    if let server = server.withLock({ $0 }) { return try await server.reload(configuration) }
    try await Server.check(configuration)
    self.configuration.withLock { running in
      var configuration = configuration
      _ = configuration.keep(fixedOf: running)
      running = configuration
    }
    reloads.add(1, ordering: .sequentiallyConsistent)
    if let (standby, node) = standby.withLock({ $0 }) {
      await standby.use(StandbyService(NodeService(node, try .init(configuration))))
    }
    log.notice("the configuration was read again")
  }

  public func run() async throws {
    let configuration = configuration.withLock { $0 }
    let foreign = ForeignTables(log: log)
    let folder = StoreReplicaFolder(configuration.dataFolder) { foreign.note($0.foreignTables) }
    let node = try ClusterNodeRun(
      configuration, folder: folder, former: former, log: log,
      onLost: { [self] in replace(nil) }
    ) { [self] end in if end != .shutDown { replace(damage == nil ? .led : .ledDamaged) } }
    let service = StandbyService(NodeService(node, try .init(configuration)))
    let standby: Standby
    do throws(HubError) {
      standby = try await PortRetry.perform(log) { () throws(HubError) in
        try Standby(configuration, service, log: log)
      }
    } catch {
      throw StartupError("\(error)")
    }
    self.standby.withLock { $0 = (standby, node) }
    await standby.start()
    log.notice(
      "standby", metadata: ["node": "\(node.leader.name)", "url": "\(node.leader.url)", "port": "\(standby.port)"])
    let outcome = await outcome(of: node)
    self.standby.withLock { $0 = nil }
    guard case .leads(let journal) = outcome, !endRequest.isMade else {
      if case .replaced = outcome, !endRequest.isMade { try? await Task.sleep(for: .seconds(10)) }
      await standby.stop()
      standby.endThread()
      log.notice("stopped")
      return
    }
    try await serve(journal, node, standby)
  }

  /// Waits until the node leads. A node with an alarm only answers requests about itself.
  private func outcome(of node: ClusterNodeRun) async -> ClusterNodeRun.Outcome {
    let folder = configuration.withLock { $0.dataFolder }
    return await withTaskGroup(of: ClusterNodeRun.Outcome.self) { tasks in
      tasks.addTask { [log] in
        let outcome = await node.follow()
        guard case .alarm(let alarm) = outcome else { return outcome }
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(60))
          if !Task.isCancelled { log.error("alarm \(alarm.code): \(alarm)") }
        }
        return .shutDown
      }
      tasks.addTask { [endRequest] in
        await endRequest.wait()
        if !Task.isCancelled { node.clock.stop() }
        return .shutDown
      }
      tasks.addTask { [self] in
        guard await losesFolder(folder) else { return .shutDown }
        replace(nil)
        return .replaced
      }
      let first = await tasks.next() ?? .shutDown
      tasks.cancelAll()
      return first
    }
  }

  /// Waits until the data folder is lost, see ``LostFiles``: the node would follow the log in a file that nobody finds
  /// again. Returns false if the task is cancelled.
  private func losesFolder(_ folder: String) async -> Bool {
    var (lostFiles, check) = (LostFiles(), FolderCheck(folder))
    while !Task.isCancelled {
      let loss = check.check()
      switch lostFiles.observe(areLost: loss != nil, at: .now) {
      case nil: break
      case .begins: log.error("\(loss ?? ""); the node begins again in \(LostFiles.patience) unless it is back")
      case .returns: log.notice("the data folder is in its place again")
      case .ends: return true
      }
      try? await Task.sleep(for: StoreProbe.pause)
    }
    return false
  }

  /// Serves as the leader until the process ends.
  private func serve(_ journal: LeaderJournal, _ node: ClusterNodeRun, _ standby: Standby) async throws {
    let reload = reloads.load(ordering: .sequentiallyConsistent)
    var configuration = configuration.withLock { $0 }
    if configuration.port == 0 { configuration.port = standby.port }
    let leadership = Leadership(
      leader: journal, journal: ClusterJournal(leader: journal), operations: node,
      beforeListening: { await standby.freePort() })
    let server = try await Server(
      configuration, leadership: leadership, end: endRequest, log: log, isReady: isReady)
    self.server.withLock { $0 = server }
    // A reload before this moment has changed only the stored configuration.
    if reloads.load(ordering: .sequentiallyConsistent) != reload {
      try? await server.reload(self.configuration.withLock { $0 })
    }
    journal.serve { server.serviceChanged() }
    await standby.stop()
    standby.endThread()
    let patience = Task { [endRequest] in
      await endRequest.wait()
      // A log that does not answer must not keep the process alive. The next leader applies what the log contains.
      try? await Task.sleep(for: server.drainDelay + DrainDeadline.patience + .seconds(5))
      guard !Task.isCancelled else { return }
      node.clock.stop()
      journal.close()
      try? await Task.sleep(for: .seconds(5))
      guard !Task.isCancelled else { return }
      LogOutput.standardError.write("stillwire: ended, although a part did not stop\n")
      LogOutput.standardError.flush(within: .milliseconds(200))
      _exit(0)
    }
    // An idle leader writes records without rows. Without their position, its file would fall behind a truncated log.
    let saving = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: Self.positionInterval)
        if !Task.isCancelled { server.savePosition { journal.position.text } }
      }
    }
    let watching = Task { [log] in
      var failing = StoreFailure()
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(1))
        let result = failing.observe(isAvailable: server.isStoreAvailable, isDamaged: server.damage != nil, at: .now)
        switch result {
        case nil: continue
        case .outage: log.error("the database has failed for \(StoreFailure.patience): the leader steps down")
        case .damage: log.error("the database is damaged: the leader steps down, and then loads a snapshot")
        }
        journal.stepDown()
      }
    }
    defer {
      watching.cancel()
      saving.cancel()
      patience.cancel()
    }
    do {
      try await server.run()
    } catch {
      guard damage != nil, !endRequest.isMade else { throw error }
      log.error("\(error)")
      // The new run loads a snapshot.
      journal.stepDown()
      await endRequest.wait()
    }
    endRequest.make()
    journal.close()
    node.clock.stop()
  }

  /// The damage of the leader's database. See ``Store/damage``.
  private var damage: StoreError? { server.withLock { $0 }?.damage }

  /// Replaces the process. Until then, the hub of a node that leads no more closes its sessions.
  /// - Parameter mark: The end of the leadership, for the new run. Is `nil` for a node that did not lead.
  private func replace(_ mark: ProcessReplacement.Mark?) {
    let thread = Thread { [endRequest] in
      usleep(UInt32(Self.farewell.seconds * 1_000_000))
      LogOutput.standardError.flush(within: .milliseconds(100))
      if endRequest.isMade { _exit(0) }
      ProcessReplacement.begin(mark)
    }
    thread.start()
  }
}
