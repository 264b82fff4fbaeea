// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayProtocol
import RelayServer

enum BenchCommand {
  /// Runs a load; why it could not be is one line for people.
  static func run(_ load: () async throws -> Void) async throws {
    do {
      try await load()
    } catch let error where error is BenchError || error is StartupError {
      throw ExitCode.failure(error)
    }
  }
}

extension BenchTarget {
  /// The run's name and a number follow it.
  static func checkPrefix(_ prefix: String) throws {
    guard prefix.utf8.count <= 128, RoomID(rawValue: prefix) != nil else {
      throw ValidationError("--prefix takes letters, digits and -_.:@!|+=~, 128 of them at most")
    }
  }
}
