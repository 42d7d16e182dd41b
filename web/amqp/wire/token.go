package wire

// A lock token is a UUID. Bodies of $management contain its 16 bytes in their usual order. In a
// delivery tag, the bytes of each of the first three groups are reversed, as in .NET's Guid.

// TagOfLockToken returns the delivery tag of a lock token.
func TagOfLockToken(token [16]byte) (tag [16]byte) {
	return [16]byte{
		token[3], token[2], token[1], token[0],
		token[5], token[4],
		token[7], token[6],
		token[8], token[9], token[10], token[11], token[12], token[13], token[14], token[15],
	}
}

// LockTokenOfTag returns the lock token of a delivery tag. It reports false for a tag that is not
// 16 bytes long, because all tags of the server are.
func LockTokenOfTag(tag []byte) (token [16]byte, ok bool) {
	if len(tag) != len(token) {
		return token, false
	}
	return TagOfLockToken([16]byte(tag)), true // swapping twice restores the order
}

const (
	ticksPerMilli = 10_000
	ticksAtEpoch  = 621_355_968_000_000_000   // 1970-01-01 in ticks since 0001-01-01
	maxTicks      = 3_155_378_975_999_999_999 // the last tick of the year 9999, .NET's maximum
)

// DotNetTicks converts a time in milliseconds since the Unix epoch to the unit of
// com.microsoft:locked-until-utc: 100 ns since 0001-01-01. A time outside of .NET's dates
// becomes the nearest date.
func DotNetTicks(millis int64) int64 {
	const first, last = -ticksAtEpoch / ticksPerMilli, (maxTicks - ticksAtEpoch) / ticksPerMilli
	switch {
	case millis < first:
		return 0
	case millis > last:
		return maxTicks
	default:
		return millis*ticksPerMilli + ticksAtEpoch
	}
}
