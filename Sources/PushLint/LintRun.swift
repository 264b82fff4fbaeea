// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// One run of all rules over a push. Mistakes whose correction is certain are corrected before the next rule runs.
struct LintRun {
  /// The payload with the corrections so far.
  var root: LintValue
  let headers: LintHeaders
  /// True if the whole text could be read, so that rules may report missing keys.
  let isWhole: Bool
  var faults: FaultList

  init(_ root: LintValue, headers: LintHeaders, isWhole: Bool, faults: FaultList) {
    self.root = root
    self.headers = headers
    self.isWhole = isWhole
    self.faults = faults
  }

  /// - Parameter size: The size of the original payload in bytes.
  mutating func run(size: Int) {
    checkHeaders()
    checkSecrets()
    let whole = root
    if whole.members != nil {
      if findAps() { checkAps() }
      checkCommunication()
    } else if isWhole {
      report(.notAnObject, at: whole, "the payload is \(whole.noun), and must be an object", mend: #"{"aps":{…}}"#)
    }
    checkSize(size)
  }

  private mutating func checkAps() {
    placeKeys()
    nameKeys()
    checkTypes()
    checkValues()
    guard isWhole, let push = LintReading(self) else { return }
    for (rule, find) in combinations + activityRules + headerRules {
      for complaint in find(push) {
        faults.report(rule, at: complaint.location, complaint.words, mend: complaint.mend)
      }
    }
  }

  private mutating func checkSize(_ size: Int) {
    let limit = headers.isVoIP ? APNsLimits.maxVoIPPayload : APNsLimits.maxPayload
    guard size > limit else { return }
    let minSize = root.json.count
    let isEnough = isWhole && minSize <= limit
    faults.report(
      .payloadTooLarge, at: .byte(0), "the payload has \(size) bytes, \(size - limit) more than \(limit)",
      mend: isEnough
        ? "leave out white space: \(minSize) bytes are enough" : "shorten the texts, or have the app fetch the rest",
      isMended: isEnough)
  }

  mutating func report(
    _ rule: LintRule, at value: LintValue, _ words: @autoclosure () -> String, mend: @autoclosure () -> String? = nil,
    replacement: @autoclosure () -> String? = nil, isMended: Bool = false
  ) {
    faults.report(
      rule, at: .byte(value.range.lowerBound), words(), mend: mend(), replacement: replacement(), isMended: isMended)
  }

  mutating func report(
    _ rule: LintRule, at member: LintMember, _ words: @autoclosure () -> String, mend: @autoclosure () -> String? = nil,
    replacement: @autoclosure () -> String? = nil, isMended: Bool = false
  ) {
    faults.report(
      rule, at: .byte(member.keyRange.lowerBound), words(), mend: mend(), replacement: replacement(),
      isMended: isMended)
  }

  /// True for the push of a Live Activity.
  var isActivity: Bool {
    headers.isActivity || root["aps"]?.members?.contains { AppleKeys.activity.contains($0.key) } == true
  }
}
