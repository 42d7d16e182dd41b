package story

import (
	"time"

	"mayfly/views/page"
)

// standbys returns the pages of a server without a namespace.
func standbys() []Story {
	owned := page.Standby{Shell: staticShell("Standing by", "", ""), Within: 10 * time.Second, Since: at("10:01:40"), Now: now, StoredIn: "MongoDB at db.shop.example, database mayfly"}
	owned.Shell.Refresh = 2
	opening, store := owned, owned
	owned.Owned = true
	owned.Owner = page.Owner{URL: "http://till-2.shop.example:8080", Host: "till-2", Epoch: 7}
	store.Why = "MongoDB at db.shop.example does not answer."
	return []Story{{Name: "standby", Page: owned}, {Name: "standby-opening", Page: opening}, {Name: "standby-store", Page: store}}
}
