// SPDX-License-Identifier: Apache-2.0
import CNATS
import ChildProcess
import Foundation
import RelayCluster

@testable import RelayNATS

/// A NATS server with JetStream on loopback, with its own folder and a free port. It ends with this object.
final class NATSServer {
  struct Failure: Error { let reason: String }

  private let folder: String
  private let arguments: [String]
  /// The name in a cluster of servers.
  let name: String
  private var process: ChildProcess?
  private(set) var port = 0

  /// - Parameter arguments: More arguments of nats-server.
  init(_ arguments: [String] = [], name: String = "single") throws {
    self.name = name
    folder = NSTemporaryDirectory() + "/nats-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    self.arguments = arguments
    port = Int(try Self.freePorts(1)[0])
    try start()
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Three servers that replicate streams. Each needs the ports of all, so the ports are chosen before the start.
  static func cluster() throws -> [NATSServer] {
    let ports = try freePorts(3)
    let routes = ports.map { "nats://127.0.0.1:\($0)" }
    return try zip(["a", "b", "c"], routes).map { name, route in
      try NATSServer(
        ["--name", name, "--cluster_name", "test", "--cluster", route, "--routes", routes.joined(separator: ",")],
        name: name)
    }
  }

  /// Returns free ports below the range from which the system gives ports to outgoing connections. Such a connection
  /// could otherwise take a port before a server binds it.
  private static func freePorts(_ count: Int) throws -> [UInt16] {
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    var ports: [UInt16] = []
    for _ in 0..<1_000 where ports.count < count {
      let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      sockets.append(socket)
      let port = UInt16.random(in: 12_000..<32_000)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      address.sin_port = port.bigEndian
      let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isBound { ports.append(port) }
    }
    guard ports.count == count else { throw Failure(reason: "no free port") }
    return ports
  }

  var address: String { "127.0.0.1:\(port)" }
  var url: String { "nats://\(address)" }
  var pid: pid_t { process?.pid ?? 0 }

  /// Starts the process. A second start uses the same port and folder.
  func start() throws {
    let log = folder + "/log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let own = [Self.program, "-a", "127.0.0.1", "-p", "\(port)", "-js", "-sd", folder, "--ports_file_dir", folder]
    process = try ChildProcess(own + arguments, output: FileHandle(forWritingAtPath: log))
    let file = folder + "/nats-server_\(pid).ports"
    try wait("the file with the ports") { FileManager.default.fileExists(atPath: file) }
    try wait("the ports") { try self.readPorts(file) }
  }

  /// Ends the process with SIGKILL.
  func kill() {
    process?.signal(SIGKILL)
    process?.wait()
  }

  /// Stops the process, and returns when all of its threads have stopped. The signal reaches one after the other.
  func pause() throws {
    Foundation.kill(pid, SIGSTOP)
    try wait("the stop of all threads") { self.threadStates.allSatisfy { $0 == "T" } }
  }

  func resume() { Foundation.kill(pid, SIGCONT) }

  private var threadStates: [String] {
    let folder = "/proc/\(pid)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.compactMap { thread in
      // The state follows the name, which is in parentheses.
      let text = try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)
      return text?.split(separator: ")").last?.split(separator: " ").first.map(String.init)
    }
  }

  private func readPorts(_ file: String) throws -> Bool {
    struct Ports: Decodable { let nats: [String] }
    guard let data = FileManager.default.contents(atPath: file),
      let ports = try? JSONDecoder().decode(Ports.self, from: data), let url = ports.nats.first
    else { return false }
    port = Int(url.split(separator: ":").last ?? "") ?? 0
    return port > 0
  }

  /// `NATS_SERVER` names another program than the one of the system.
  private static var program: String {
    ProcessInfo.processInfo.environment["NATS_SERVER"]
      ?? ["/usr/sbin/nats-server", "/usr/bin/nats-server"].first { FileManager.default.isExecutableFile(atPath: $0) }
      ?? "nats-server"
  }
}

/// Waits until a condition is true, at most 20 s.
func wait(_ what: String, until isTrue: () throws -> Bool) throws {
  let end = ContinuousClock.now + .seconds(20)
  while try !isTrue() {
    guard ContinuousClock.now < end else { throw NATSServer.Failure(reason: "timeout: \(what)") }
    usleep(5_000)
  }
}

/// The servers of one test. They end when the test ends.
final class Stage {
  private var servers: [NATSServer] = []

  func server(_ arguments: [String] = []) throws -> NATSServer {
    let server = try NATSServer(arguments)
    servers.append(server)
    return server
  }

  /// Ends the server with this name.
  func kill(_ name: String) { servers.first { $0.name == name }?.kill() }

  /// Starts one or three servers, connects to them and creates the streams.
  func log(
    replicas: Int = 1, _ configure: (inout NATSConfiguration) -> Void = { _ in }
  ) throws -> NATSLog {
    servers = try replicas == 3 ? NATSServer.cluster() : [NATSServer()]
    return try log(servers, replicas: replicas, configure)
  }

  /// Connects to servers and creates the streams.
  func log(
    _ servers: [NATSServer], replicas: Int = 1, _ configure: (inout NATSConfiguration) -> Void = { _ in }
  ) throws -> NATSLog {
    var configuration = NATSConfiguration(
      servers: servers.map(\.url).joined(separator: ","), cluster: "test", node: "a")
    configuration.replicas = replicas
    configure(&configuration)
    var log: NATSLog?
    // Several servers accept connections and requests only when they have elected their leader.
    try wait("the streams") {
      if log == nil { log = try? NATSLog(configuration) { _ in } }
      return (try? log?.createStreams())?.generation ?? 0 > 0
    }
    guard let log else { preconditionFailure("the streams exist, so there is a connection") }
    return log
  }
}

extension NATSLog {
  /// The name of the server that leads the stream.
  func serverOfLeader(_ stream: LogStream = .log) throws -> String {
    var found: UnsafeMutablePointer<jsStreamInfo>?
    let name = stream == .log ? configuration.logStream : configuration.snapshotStream
    guard js_GetStreamInfo(&found, nats.jetStream, name, nil, nil) == NATS_OK, let found,
      let name = found.pointee.Cluster?.pointee.Leader
    else { throw NATSServer.Failure(reason: "no server leads the stream") }
    defer { jsStreamInfo_Destroy(found) }
    return String(cString: name)
  }
}

extension Leader {
  static let test: Leader = {
    guard let leader = Leader(name: "a", url: "http://a:8080") else { preconditionFailure("the name is valid") }
    return leader
  }()
}

extension LogRecord {
  /// A record whose time does not matter.
  init(sequence: UInt64, term: UInt64, gid: String, content: Content) {
    self.init(sequence: sequence, term: term, gid: gid, time: .zero, content: content)
  }

  /// A record with rows.
  static func rows(_ sequence: UInt64, term: UInt64 = 1, gid: String? = nil, _ body: String = "x") -> LogRecord {
    LogRecord(sequence: sequence, term: term, gid: gid ?? "gid-\(term)-\(sequence)", content: .rows(Array(body.utf8)))
  }

  static func term(_ sequence: UInt64, _ term: UInt64, node: String = "a") throws -> LogRecord {
    guard let leader = Leader(name: node, url: "http://\(node):8080") else {
      throw NATSServer.Failure(reason: "the name is not valid")
    }
    return LogRecord(sequence: sequence, term: term, gid: "term-\(term)-\(node)", content: .term(leader))
  }
}
