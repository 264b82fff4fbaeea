// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayIdentity
import RelayJSON
import RelayProtocol

/// The options of all loads of a relay: its address, its process and the form of the report.
struct BenchRelay: ParsableArguments {
  @Option(help: "The relay's host name or IP address.")
  var address = "127.0.0.1"

  @Option(help: "The relay's port.")
  var port: UInt16 = 8080

  @Option(
    help: ArgumentHelp(
      "The relay's process, to report its processor time and memory (default: the process that listens on the port).",
      valueName: "pid"))
  var pid: Int32?

  @Flag(help: "Print JSON: times in seconds, sizes in bytes.")
  var json = false

  func validate() throws {
    guard port > 0 else { throw ValidationError("--port must be from 1 to 65535") }
    if let pid, ServerUse(of: pid) == nil { throw ValidationError("--pid \(pid) is not a process that can be read") }
  }

  /// Prints the report. Throws an exit status of 1 if there are faults.
  func finish(_ report: BenchReport) throws {
    print(json ? report.json : report.table)
    guard report.isClean else { throw ExitCode.failure }
  }
}

/// The options of loads that open sessions: the relay and its users.
struct BenchTarget: ParsableArguments {
  @OptionGroup var relay: BenchRelay

  @Option(
    help: ArgumentHelp("The relay's secret, to make a token for each user (default: open mode).", valueName: "file"))
  var secretFile: String?

  @Option(
    help: ArgumentHelp("Tokens, one in each line, for the sessions in turn (default: open mode).", valueName: "file"))
  var tokenFile: String?

  @Option(help: "Sessions to open in a second.")
  var connectRate = 2000.0

  func validate() throws {
    guard secretFile == nil || tokenFile == nil else {
      throw ValidationError("--secret-file and --token-file exclude each other")
    }
    try Self.check("--connect-rate", connectRate, 1...1_000_000)
  }

  static func check<Number: Comparable>(_ option: String, _ value: Number?, _ range: ClosedRange<Number>) throws {
    guard let value, !range.contains(value) else { return }
    throw ValidationError("\(option) must be from \(range.lowerBound) to \(range.upperBound), not \(value)")
  }

  /// Throws if the prefix of room names is invalid. In a room name, the run's name and a number follow the prefix.
  static func checkPrefix(_ prefix: String) throws {
    guard prefix.utf8.count <= 128, RoomID(rawValue: prefix) != nil else {
      throw ValidationError("--prefix takes letters, digits and -_.:@!|+=~, 128 of them at most")
    }
  }
}

/// Makes the `hello` frames of the sessions, with user names or tokens.
struct Hellos {
  private let signer: TokenSigner?
  private let tokens: [String]?
  private let run: String
  private var count = 0

  /// - Parameter run: The name of the run. It is part of the user names, so that they differ between runs.
  init(_ target: BenchTarget, run: String) async throws {
    self.run = run
    if let file = target.secretFile {
      signer = await TokenSigner(secret: try SecretFile(forTokensAt: file).secret)
    } else {
      signer = nil
    }
    tokens = try target.tokenFile.map { path in
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw BenchError("--token-file \(path) cannot be read")
      }
      let lines = text.split(whereSeparator: \.isWhitespace).map(String.init)
      guard !lines.isEmpty else { throw BenchError("--token-file \(path) has no tokens") }
      return lines
    }
  }

  static func userPrefix(of run: String) -> String { "bench-\(run)-" }

  mutating func next() async throws -> String {
    let user = Self.userPrefix(of: run) + String(count)
    var token = tokens.map { $0[count % $0.count] }
    if let signer {
      let expires = Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) + .seconds(86_400)
      var claims = TokenSigner.Claims(user: User(id: UserID(unchecked: user), name: nil, avatar: nil), expires: expires)
      claims.grants = Glob("*").map { [Grant(match: $0, can: .standard)] }
      token = try await signer.sign(claims)
    }
    count += 1
    let hello = JSONWriter.object {
      $0["type"] = "hello"
      if token == nil { $0["user"] = user }
      $0["token"] = token
    }
    return String(decoding: hello, as: UTF8.self)
  }
}
