// SPDX-License-Identifier: Apache-2.0
// Tests the privacy manifest: it is a resource, and it declares the functions of the system that need a reason.
import Foundation
import Testing

@testable import StillwireExtension

@Suite struct PrivacyManifestTests {
  private struct Manifest: Decodable {
    struct Function: Decodable {
      var type: String
      var reasons: [String]

      enum CodingKeys: String, CodingKey {
        case type = "NSPrivacyAccessedAPIType"
        case reasons = "NSPrivacyAccessedAPITypeReasons"
      }
    }
    struct Collection: Decodable {
      var type: String
      var isTracking: Bool
      var purposes: [String]

      enum CodingKeys: String, CodingKey {
        case type = "NSPrivacyCollectedDataType"
        case isTracking = "NSPrivacyCollectedDataTypeTracking"
        case purposes = "NSPrivacyCollectedDataTypePurposes"
      }
    }
    var isTracking: Bool
    var collected: [Collection]
    var functions: [Function]

    enum CodingKeys: String, CodingKey {
      case isTracking = "NSPrivacyTracking"
      case collected = "NSPrivacyCollectedDataTypes"
      case functions = "NSPrivacyAccessedAPITypes"
    }
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Functions that need a reason, by a part of their calls, and their categories
  /// (https://developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api).
  private static var functions: [(call: Regex<Substring>, category: String, reason: String)] {
    [
      (/modificationDate|contentModificationDate|creationDate|[^a-z]f?stat\(/, "FileTimestamp", "C617.1"),
      (/UserDefaults\(/, "UserDefaults", "1C8F.1"), (/systemUptime|mach_absolute_time/, "SystemBootTime", "35F9.1"),
      (/systemFreeSize|volumeAvailableCapacity|statv?fs\(/, "DiskSpace", "E174.1"),
      (/activeInputModes/, "ActiveKeyboards", "54BD.1"),
    ]
  }

  @Test func `the manifest is a resource, and declares each function that the libraries use`() throws {
    let file = try #require(Bundle.module.url(forResource: "PrivacyInfo", withExtension: "xcprivacy"))
    let manifest = try PropertyListDecoder().decode(Manifest.self, from: Data(contentsOf: file))
    #expect(!manifest.isTracking && manifest.collected.count == 4)
    for collection in manifest.collected {
      #expect(!collection.isTracking)
      #expect(collection.purposes == ["NSPrivacyCollectedDataTypePurposeAppFunctionality"], "\(collection.type)")
    }
    var used: [String: [String]] = [:]
    for library in [
      "RelayJSON", "RelayProtocol", "StillwireApple", "StillwireClient", "StillwireExtension", "StillwireUI",
    ] {
      let folder = Self.root.appending(path: "Sources/\(library)")
      for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      where path.hasSuffix(".swift") && !path.contains(".docc/") {
        let source = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        for (call, category, reason) in Self.functions where source.firstMatch(of: call) != nil {
          used["NSPrivacyAccessedAPICategory\(category)"] = [reason]
        }
      }
    }
    #expect(used.count == 1)
    #expect(Dictionary(uniqueKeysWithValues: manifest.functions.map { ($0.type, $0.reasons) }) == used)
  }
}
