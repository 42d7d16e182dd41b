package layout

// A User is who looks at a page. Its zero value is anybody: the server does not ask.
type User struct {
	Name     string
	Role     string // viewer, operator or admin
	Out      string // the address that signs out; empty: there is no signing out
	Leave    string // the address that has this browser forget the link by which it looks; empty: it looks by none
	Tokens   string // the address of tokens and links; empty: not for this one
	Sessions string // the address of who has signed in; empty: not for this one
}

// TokensAt is where tokens and links are, below the base path.
const TokensAt = "/tokens"

// RoleWord is the id of what a role is called.
func RoleWord(role string) string {
	switch role {
	case "admin":
		return "role.admin"
	case "operator":
		return "role.operator"
	default:
		return "role.viewer"
	}
}
