// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

extension ExitCode {
  /// Failure, after the error was told in one line.
  static func failure(_ error: any Error) -> ExitCode {
    try? FileHandle.standardError.write(contentsOf: Data("stillwire: \(error)\n".utf8))
    return .failure
  }
}
