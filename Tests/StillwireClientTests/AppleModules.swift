// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import ChildProcess
  import Foundation

  /// One of Apple's systems, with the minimum version of the package.
  enum AppleSystem: String, CaseIterable, Sendable {
    case iOS, macOS, tvOS, visionOS, watchOS

    var minVersion: Double {
      switch self {
      case .iOS, .tvOS: 16
      case .macOS: 13
      case .visionOS: 1
      case .watchOS: 9
      }
    }
  }

  /// Compiles code for one of Apple's systems, with modules that declare only the used parts of its frameworks
  /// (StandIns). Compiles through SIL, because the type checker alone finds no data races.
  ///
  /// The compiler of Linux ignores the conditions and attributes of other systems. The sources are therefore copied, with
  /// these changes:
  ///
  /// - `os(tvOS)` becomes a flag of the compiler, which is set for this system.
  /// - `@available(iOS 17, *)` becomes `@available(*, unavailable)` if the version is above that of the compilation. The
  ///   last compilation is for the minimum version.
  /// - `if #available(iOS 17, *) { … } else { … }` becomes the branch that the version of the compilation runs. Each
  ///   version in a condition has a compilation of its own, so that the check compiles all branches.
  /// - `@available(tvOS, unavailable)` becomes `@available(*, unavailable)`.
  struct AppleModules {
    /// The output of the compiler, if it fails.
    struct Failure: Error, CustomStringConvertible { var description: String }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    private static let standIns = root.appending(path: "Tests/StillwireClientTests/StandIns")
    /// The modules, each after the modules that it imports.
    static let names = [
      "UserNotifications", "Intents", "AppIntents", "CallKit", "PushKit", "Security", "UIKit", "SwiftUI",
    ]

    let system: AppleSystem
    /// The minimum version of the code.
    private let deployment: Double
    private let folder: URL

    /// Compiles the stand-ins.
    /// - Parameter deployment: The minimum version of the code. Is that of the package if it is `nil`.
    init(_ system: AppleSystem, deployment: Double? = nil) throws {
      self.system = system
      self.deployment = deployment ?? system.minVersion
      folder = FileManager.default.temporaryDirectory.appending(path: "apple-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for name in Self.names {
        let source = try String(contentsOf: Self.standIn(name), encoding: .utf8)
        try compile(["\(name).swift": source], as: name, mode: 6)
      }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    static func standIn(_ name: String) -> URL { standIns.appending(path: "\(name).swift") }

    /// The declarations of a stand-in, each with its systems, and with the path of its page at Apple.
    static func declarations(of name: String) throws -> [(declaration: String, systems: String, page: String?)] {
      let prefix = "// https://developer.apple.com/documentation/"
      var declarations: [(String, String, String?)] = []
      var (page, systems) = (String?.none, [String]())
      let source = try String(contentsOf: standIn(name), encoding: .utf8)
      for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix(prefix) {
          (page, systems) = (String(line.dropFirst(prefix.count)), [])
        } else if line.wholeMatch(of: /(@\w+ )*(open|public|extension) .*/) != nil, !line.contains("public import ") {
          let keyword = line.firstMatch(of: /(class|struct|enum|protocol|func|let|typealias|extension) \w+/)
          declarations.append((keyword.map { String($0.0) } ?? "", systems.joined(separator: ", "), page))
          page = nil
        } else if let attribute = line.prefixMatch(of: /@available\(([^)]*)\)/) {
          let parts = attribute.1.split(separator: ",").map { $0.drop { $0 == " " } }
          systems += parts.last == "unavailable" ? ["not \(parts[0])"] : parts.dropLast().map(String.init)
        } else {
          page = nil
        }
      }
      return declarations
    }

    /// The sources in a folder of the package, by the names of their files.
    static func sources(in folder: String = "Sources/StillwireApple") throws -> [String: String] {
      let place = root.appending(path: folder)
      var sources: [String: String] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path) where name.hasSuffix(".swift") {
        sources[name] = try String(contentsOf: place.appending(path: name), encoding: .utf8)
      }
      return sources
    }

    /// Compiles a module through SIL, for the minimum version and for each version that a condition has. Later modules
    /// can import it. Throws ``Failure``.
    /// - Parameters:
    ///   - mode: The language mode, 5 or 6.
    ///   - arguments: Further arguments of the compiler.
    func compile(_ sources: [String: String], as module: String, mode: Int, _ arguments: [String] = []) throws {
      let conditions = sources.values.flatMap { $0.matches(of: /#available\(([^)]*)\)/).map(\.1) }
      let versions = conditions.compactMap { version(in: $0) }.filter { $0 > deployment }
      // The module that later modules import is that of the minimum version.
      for version in Set(versions).sorted(by: >) + [deployment] {
        try compile(sources, as: module, mode: mode, for: version, arguments)
      }
    }

    private func compile(
      _ sources: [String: String], as module: String, mode: Int, for version: Double, _ arguments: [String]
    ) throws {
      let place = folder.appending(path: "\(module)-sources-\(mode)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      var files: [String] = []
      for (name, source) in sources {
        let file = place.appending(path: name)
        try rewritten(source, for: version).write(to: file, atomically: true, encoding: .utf8)
        files.append(file.path)
      }
      let all = [
        "swiftc", "-swift-version", "\(mode)", "-warnings-as-errors", "-parse-as-library", "-wmo", "-emit-sil", "-o",
        place.appending(path: "\(module).sil").path, "-emit-module", "-emit-module-path",
        folder.appending(path: "\(module).swiftmodule").path, "-module-name", module, "-D", "SYSTEM_\(system.rawValue)",
        "-package-name", "stillwire", "-I", folder.path, "-I", Self.root.appending(path: ".build/debug/Modules").path,
      ]
      try run(all + arguments + files.sorted())
    }

    /// Runs a program. Throws ``Failure``.
    private func run(_ arguments: [String]) throws {
      let (hasSucceeded, output) = try ChildProcess.run(arguments)
      guard hasSucceeded else { throw Failure(description: output) }
    }

    /// Replaces the conditions and attributes for Apple's systems.
    private func rewritten(_ source: String, for version: Double) throws -> String {
      try selected(source[...], for: version).replacing(/\bos\((\w+)\)/) { "SYSTEM_\($0.1)" }
        .replacing(/@available\(([^)]*)\)/) { match in
          let parts = match.1.split(separator: ",").map { $0.split(separator: " ").map(String.init) }
          let own = parts.first { $0.first == system.rawValue }
          if parts.last == ["unavailable"] {
            return parts[0] == ["*"] || own != nil ? "@available(*, unavailable)" : ""
          }
          guard let own, let needed = Double(own[1]), needed > version else { return "" }
          return "@available(*, unavailable, message: \"needs \(own.joined(separator: " "))\")"
        }
    }

    /// Replaces each `if #available(…)` by the branch that this version runs. Braces in texts must be balanced.
    private func selected(_ source: Substring, for version: Double) throws -> String {
      guard let condition = source.firstMatch(of: /#available\(([^)]*)\)/) else { return String(source) }
      guard let start = source[..<condition.range.lowerBound].firstMatch(of: /if\s+$/),
        let body = block(source[condition.range.upperBound...])
      else { throw Failure(description: "the check supports #available only as the whole condition of `if`") }
      var (rest, other) = (source[body.endIndex...], ""[...])
      var isChain = false
      if let keyword = rest.prefixMatch(of: /\s*else\s*/) {
        rest = rest[keyword.range.upperBound...]
        isChain = rest.hasPrefix("if")
        if let branch = block(rest) { (other, rest) = (branch, rest[branch.endIndex...]) }
      }
      let isMet = (self.version(in: condition.1) ?? 0) <= version
      let before = String(source[..<start.range.lowerBound])
      if isChain {
        guard !isMet else { throw Failure(description: "the check does not support `else if` after #available") }
        return try before + selected(rest, for: version)
      }
      let branch = isMet ? body : other
      return try before + (branch.isEmpty ? "" : "if true " + selected(branch, for: version))
        + selected(rest, for: version)
    }

    /// The block in braces with which the text begins.
    private func block(_ text: Substring) -> Substring? {
      guard let start = text.prefixMatch(of: /\s*{/) else { return nil }
      var depth = 0
      for index in text[start.range.lowerBound...].indices {
        if text[index] == "{" { depth += 1 }
        guard text[index] == "}" else { continue }
        depth -= 1
        if depth == 0 { return text[start.range.lowerBound...index] }
      }
      return nil
    }

    /// The version of this system in a list such as `iOS 17, macOS 14, *`.
    private func version(in list: Substring) -> Double? {
      let parts = list.split(separator: ",").map { $0.split(separator: " ") }
      return parts.first { $0.first == system.rawValue[...] }.flatMap { Double($0[1]) }
    }
  }
#endif
