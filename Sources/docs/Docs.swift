// SPDX-License-Identifier: Apache-2.0
import Foundation

/// `stillwire-docs CHECKOUT FOLDER`: writes the site that the relay serves at `/docs`.
@main struct Docs {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let checkout = arguments.first, let folder = arguments.last else {
      complain("usage: stillwire-docs CHECKOUT FOLDER")
      exit(2)
    }
    do {
      let checkout = Checkout(checkout)
      try Site(.stillwire, from: checkout).write(to: folder, from: checkout)
    } catch let faults as Faults {
      for fault in faults.all { complain(fault.description) }
      exit(1)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  private static func complain(_ words: String) {
    FileHandle.standardError.write(Data((words + "\n").utf8))
  }
}
