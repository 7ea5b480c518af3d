// Python class for trees whose table is on several machines.
#include "core/grow/top.hpp"
#include "bindings/arrays.hpp"

namespace hedgerow {
namespace {

// The tops of trees, and their growth options.
class HeldTop {
public:
    HeldTop(const nb::dict& bins, const nb::dict& target, const nb::dict& options, std::size_t n_rows,
            std::size_t first_tree, std::size_t n_trees, std::size_t gather_rows)
        : bins_(bins),
          target_(target),
          target_there_(target),
          top_(top_from(bins_.given, target_.given, Values(options).given, n_rows, first_tree, n_trees, gather_rows)) {}

    bool plant(const InTable<double>& totals) { return top_.plant(table_of(totals)); }
    nb::object balance(std::size_t tree) const {
        return top_.balance(tree).empty() ? nb::none() : to_numpy(std::vector<double>(top_.balance(tree)));
    }
    nb::tuple sketch(std::size_t tree) {
        GrownTree sketch = sketch_of(top_.frontier().tree(tree));
        return nb::make_tuple(to_numpy(bits_of(sketch.nodes)), to_numpy(std::move(sketch.payload)),
                              to_numpy(std::move(sketch.set_words)));
    }
    nb::list questions(std::size_t most_bytes) {
        nb::list all;
        for (TreeQuestions& each : top_.frontier().questions(most_bytes))
            all.append(nb::make_tuple(each.tree, to_numpy(std::move(each.nodes)), to_numpy(std::move(each.start)),
                                      to_numpy(std::move(each.features))));
        return all;
    }
    nb::tuple level() {
        const Frontier& frontier = top_.frontier();
        return nb::make_tuple(frontier.n_levels(), frontier.n_open(), frontier.n_open_trees());
    }
    void answer(const In<double>& sums, const std::optional<InTable<double>>& seen) {
        top_.frontier().answer(span_of(sums), seen ? std::optional(table_of(*seen)) : std::nullopt);
    }
    nb::list groups(std::size_t tree, std::size_t row_bytes, std::size_t most_bytes) const {
        nb::list all;
        for (Group& each : top_.groups(tree, row_bytes, most_bytes))
            all.append(nb::make_tuple(to_numpy(std::move(each.nodes)), each.n_bytes));
        return all;
    }
    nb::dict heritage(std::size_t tree, const In<std::uint32_t>& nodes) const {
        return to_dict(top_.heritage(tree, span_of(nodes)));
    }
    void graft(std::size_t tree, const In<std::uint32_t>& nodes, const nb::dict& arrays,
               const In<std::uint8_t>& early) {
        top_.graft(tree, span_of(nodes), Values(arrays).given, span_of(early));
    }
    std::vector<std::vector<std::uint32_t>> counted(std::size_t tree) const { return top_.counted(tree); }
    void count(std::size_t tree,
               const nb::ndarray<const std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>& sums) {
        top_.count(tree, {sums.data(), sums.size()});
    }
    nb::dict tree(std::size_t number) { return to_dict(top_.tree(number)); }

private:
    Values bins_, target_;
    nb::dict target_there_;  // keeps alive the function of a custom criterion
    Top top_;
};

}  // namespace

void define_tops(nb::module_& module) {
    nb::class_<HeldTop>(module, "Top")
        .def(nb::init<const nb::dict&, const nb::dict&, const nb::dict&, std::size_t, std::size_t, std::size_t,
                      std::size_t>(),
             "bins"_a, "target"_a, "options"_a, "n_rows"_a, "first_tree"_a, "n_trees"_a, "gather_rows"_a)
        .def("plant", &HeldTop::plant, "totals"_a)
        .def("balance", &HeldTop::balance, "tree"_a)
        .def("sketch", &HeldTop::sketch, "tree"_a)
        .def("questions", &HeldTop::questions, "most_bytes"_a)
        .def("level", &HeldTop::level)
        .def("answer", &HeldTop::answer, "sums"_a, "seen"_a.none())
        .def("groups", &HeldTop::groups, "tree"_a, "row_bytes"_a, "most_bytes"_a)
        .def("heritage", &HeldTop::heritage, "tree"_a, "nodes"_a)
        .def("graft", &HeldTop::graft, "tree"_a, "nodes"_a, "arrays"_a, "early"_a)
        .def("counted", &HeldTop::counted, "tree"_a)
        .def("count", &HeldTop::count, "tree"_a, "sums"_a)
        .def("tree", &HeldTop::tree, "number"_a);
}

}  // namespace hedgerow
