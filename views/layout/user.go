package layout

// A User is the signed-in user of a page. Its zero value means that the server has no sign-in.
type User struct {
	Name     string
	Role     string // viewer, operator or admin
	SignOut  string // address that signs out; empty means that the user cannot sign out
	DropLink string // address that drops the link cookie of this browser; empty if it uses no link
	Tokens   string // address of tokens and links; empty if not permitted
	Sessions string // address of the list of sessions; empty if not permitted
}

// TokensPath is the path of tokens and links, below the base path.
const TokensPath = "/tokens"

// RoleWord returns the id of a role's name.
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
