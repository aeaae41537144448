/*
 * record/as_user.h - do something to files as the user for whom we record.
 */
#ifndef MT_AS_USER_H
#define MT_AS_USER_H

struct mt_identity;

/*
 * What fn returns (a descriptor, 0 or -errno), or -errno if it could not be called. Only the
 * effective ids change, and come back: the kernel checks access and gives ownership by them.
 * -EPERM if they do not come back; a descriptor is closed then.
 */
int mt_as_user(const struct mt_identity *identity, int (*fn)(void *arg), void *arg);

/* Remove the file at path, as this user, if it is still the one at fd. */
void mt_remove_as_user(const struct mt_identity *identity, int fd, const char *path);

#endif
