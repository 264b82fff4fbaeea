// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's Image I/O that PictureScaler uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from.
public import CoreGraphics

// https://developer.apple.com/documentation/imageio/cgimagesource
public final class CGImageSource {}

// https://developer.apple.com/documentation/imageio/cgimagesourcecreatewithdata(_:_:)
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { fatalError() }
// https://developer.apple.com/documentation/imageio/cgimagesourcecopypropertiesatindex(_:_:_:)
public func CGImageSourceCopyPropertiesAtIndex(
  _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CFDictionary? { fatalError() }
// https://developer.apple.com/documentation/imageio/cgimagesourcecreatethumbnailatindex(_:_:_:)
public func CGImageSourceCreateThumbnailAtIndex(
  _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { fatalError() }

// https://developer.apple.com/documentation/imageio/kcgimagepropertypixelwidth
public let kCGImagePropertyPixelWidth: CFString = "PixelWidth"
// https://developer.apple.com/documentation/imageio/kcgimagepropertypixelheight
public let kCGImagePropertyPixelHeight: CFString = "PixelHeight"
// https://developer.apple.com/documentation/imageio/kcgimagesourcecreatethumbnailfromimagealways
public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = "kCGImageSourceCreateThumbnailFromImageAlways"
// https://developer.apple.com/documentation/imageio/kcgimagesourcecreatethumbnailwithtransform
public let kCGImageSourceCreateThumbnailWithTransform: CFString = "kCGImageSourceCreateThumbnailWithTransform"
// https://developer.apple.com/documentation/imageio/kcgimagesourceshouldcacheimmediately
public let kCGImageSourceShouldCacheImmediately: CFString = "kCGImageSourceShouldCacheImmediately"
// https://developer.apple.com/documentation/imageio/kcgimagesourcethumbnailmaxpixelsize
public let kCGImageSourceThumbnailMaxPixelSize: CFString = "kCGImageSourceThumbnailMaxPixelSize"

// https://developer.apple.com/documentation/imageio/cgimagedestination
public final class CGImageDestination {}

// https://developer.apple.com/documentation/imageio/cgimagedestinationcreatewithdata(_:_:_:_:)
public func CGImageDestinationCreateWithData(
  _ data: CFMutableData, _ type: CFString, _ count: Int, _ options: CFDictionary?
) -> CGImageDestination? { fatalError() }
// https://developer.apple.com/documentation/imageio/cgimagedestinationaddimage(_:_:_:)
public func CGImageDestinationAddImage(
  _ idst: CGImageDestination, _ image: CGImage, _ properties: CFDictionary?
) { fatalError() }
// https://developer.apple.com/documentation/imageio/cgimagedestinationfinalize(_:)
public func CGImageDestinationFinalize(_ idst: CGImageDestination) -> Bool { fatalError() }
