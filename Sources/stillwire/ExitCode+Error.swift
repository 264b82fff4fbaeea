// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

// The errors of all subcommands: one line on standard error, and the exit code 1.

extension ExitCode {
  /// Prints the error in one line on standard error, and returns the exit code for a failure.
  static func failure(_ error: any Error) -> ExitCode {
    try? FileHandle.standardError.write(contentsOf: Data("stillwire: \(error)\n".utf8))
    return .failure
  }
}
