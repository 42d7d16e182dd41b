package users

// Decoy is the cost of what the password for a name that there is not is compared with.
func (f *File) Decoy(name string) uint32 { return f.decoy(name).memory }
