// cpp_nofp.cc - a small C++ program of the usual kind: containers, strings, streams, regular
// expressions, exceptions, smart pointers. Compiled without frame pointers, optimized.
//
// It reads its own made-up log, indexes it, queries the index, and forgets to free the
// sessions it opened. Deterministic: same allocations in every run.
//
//	cpp_nofp [ROUNDS]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop {

struct Session {
	std::string user;
	std::vector<std::string> pages;
};

class LogReader {
public:
	explicit LogReader(unsigned seed) : state(seed) {}

	std::string next_line()
	{
		static const char *const actions[] = { "view", "search", "buy", "leave" };
		std::ostringstream line;

		line << "user" << next() % 50 << ' ' << actions[next() % 4] << " /catalogue/item-"
		     << next() % 200 << "?ref=" << next() % 1000;
		return line.str();
	}

private:
	unsigned next()
	{
		state = state * 1103515245u + 12345u;
		return state >> 16 & 0x7fff;
	}

	unsigned state;
};

class Index {
public:
	void add(const std::string &line)
	{
		static const std::regex form("(user[0-9]+) ([a-z]+) (/[^?]+)\\?ref=([0-9]+)");
		std::smatch part;

		if (!std::regex_match(line, part, form))
			throw std::runtime_error("bad line: " + line);
		by_page[part[3]].push_back(part[1]);
		count[part[2]]++;
		open_session(part[1])->pages.push_back(part[3]);
	}

	std::vector<std::string> busiest(std::size_t n) const
	{
		std::vector<std::pair<std::size_t, std::string>> order;
		std::vector<std::string> names;

		for (const auto &page : by_page)
			order.emplace_back(page.second.size(), page.first);
		std::sort(order.rbegin(), order.rend());
		for (std::size_t i = 0; i < n && i < order.size(); i++)
			names.push_back(order[i].second);
		return names;
	}

private:
	Session *open_session(const std::string &user)
	{
		Session *&session = sessions[user];

		// The leak: every eighth visit opens a new session and loses the old one.
		if (!session || session->pages.size() == 8)
			session = new Session{ user, {} };
		return session;
	}

	std::map<std::string, std::vector<std::string>> by_page;
	std::unordered_map<std::string, int> count;
	std::unordered_map<std::string, Session *> sessions;
};

} // namespace shop

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
	auto index = std::make_unique<shop::Index>();
	shop::LogReader reader(20);
	int bad = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			index->add(i % 100 == 99 ? "garbage" : reader.next_line());
		} catch (const std::runtime_error &) {
			bad++;
		}
	}
	for (const auto &name : index->busiest(3))
		std::printf("%s\n", name.c_str());
	std::printf("%d bad lines\n", bad);
	return 0;
}
